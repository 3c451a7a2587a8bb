"""Backfills, redrives, completions and tokens from the command line."""

import re

import pytest

from tests.cli.conftest import Tocsin
from tests.gateway.harness import Harness
from tests.gateway.test_operations import died
from tocsin.model.keys import JobKey

AT = 1_790_000_000_000
KEY = JobKey("default", "a")
DAY = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z")


def test_a_backfill_tells_its_slots_and_can_be_cancelled(tocsin: Tocsin, hourly: str) -> None:
    tocsin("job", "put", hourly, "--cron", "0 * * * *", "--noop")
    begun = tocsin("job", "backfill", hourly, *DAY, "--output", "json").json
    cancelled = tocsin("job", "cancel-backfill", begun["backfill_id"])
    (listed,) = tocsin("job", "backfills", hourly, "--output", "json").json

    assert (begun["slots"], cancelled.code) == (24, 0)
    assert listed["backfill_id"] == begun["backfill_id"]
    assert tocsin("job", "backfill", hourly, "--from", "never").code == 2
    assert "  2026-01-01T00:00:00Z  " in tocsin("job", "backfills", hourly).out


def test_dead_runs_are_redriven_one_or_all(tocsin: Tocsin, harness: Harness) -> None:
    tocsin("job", "put", "a", "--every", "1h", "--noop")
    runs = [harness.scheduler.run_of(KEY, AT + number) for number in range(3)]
    for run in runs:
        harness.scheduler.emit(run)
        died(harness, run)
    one = tocsin("run", "redrive", runs[0].run_id)
    harness.settle()
    counted = tocsin("run", "redrive", "--job", "a")
    rest = tocsin("run", "redrive", "--job", "a", "--yes", "--output", "json").json

    assert (one.code, one.out.split()[1]) == (0, "pending")
    assert (counted.code, "2 dead runs match" in counted.err) == (2, True)
    assert (rest["matched"], rest["done"]) == (2, 2)
    assert tocsin("run", "redrive").code == 2
    assert tocsin("run", "redrive", runs[0].run_id).code == 4


def test_a_run_that_was_left_open_is_completed(tocsin: Tocsin, harness: Harness) -> None:
    tocsin("job", "put", "a", "--every", "1h", "--noop")
    good, bad = (harness.scheduler.run_of(KEY, AT + number) for number in range(2))
    for run in (good, bad):
        harness.scheduler.emit(run)
        harness.scheduler.defer(run)
    harness.settle()
    completed = tocsin("run", "complete", good.run_id, "--result", '{"rows":3}', "--output", "json")
    failed = tocsin("run", "complete", bad.run_id, "--failed", "no rows", "--output", "json")

    assert (completed.json["status"], completed.json["result"]) == ("succeeded", {"rows": 3})
    assert failed.json["error"] == {"code": "exception", "message": "no rows"}
    assert tocsin("run", "complete", good.run_id).code == 4


def test_a_token_is_made_listed_and_revoked(tocsin: Tocsin, harness: Harness) -> None:
    made = tocsin("token", "create", "ci", "--role", "admin", "--all-tenants", "--expires", "90d")
    secret = made.out.strip()
    refused = tocsin("token", "list")
    harness.http.headers["Authorization"] = f"Bearer {secret}"
    listed = harness.http.get("/v1/tokens")

    assert (made.code, secret.startswith("tocsin_")) == (0, True)
    assert refused.code == 2
    assert secret not in listed.text


def test_tokens_are_listed_without_their_secrets(
    tocsin: Tocsin, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tocsin("token", "create", "ops", "--role", "admin").out.strip()
    monkeypatch.setenv("TOCSIN_API_TOKEN", made)
    tocsin("token", "create", "ci", "--role", "viewer", "--expires", "1d")
    listed = tocsin("token", "list")
    revoked = tocsin("token", "revoke", "ci")

    assert [line.split()[:4] for line in listed.out.splitlines()[1:]] == [
        ["ci", "viewer", "default", "active"],
        ["ops", "admin", "default", "active"],
    ]
    assert re.search(r"ci +viewer +default +active +2\S+T\S+Z\n", listed.out)
    assert made not in listed.out
    assert (revoked.code, revoked.out) == (0, "ci is revoked\n")
    assert tocsin("token", "revoke", "ci").code == 1
