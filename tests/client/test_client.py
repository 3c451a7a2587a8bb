"""The client against a gateway: what people write, and what they get."""

import math
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.gateway.harness import Harness, PumpingTransport
from tocsin import Client
from tocsin.client import Conflict, Invalid, NotFound, StillRunning
from tocsin.model.keys import JobKey

NOOP = {"type": "noop"}
DAILY = {"cron": "0 7 * * *", "timezone": "Europe/Berlin"}


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    with Harness(tmp_path) as made:
        yield made


@pytest.fixture
def client(harness: Harness) -> Iterator[Client]:
    with Client("http://localhost:8080", transport=PumpingTransport(harness)) as made:
        yield made


def test_importing_tocsin_loads_no_http_client() -> None:
    code = "import sys, tocsin; sys.exit('httpx' in sys.modules or 'fastapi' in sys.modules)"
    folder = Path(__file__).parents[2] / "libs"

    assert subprocess.run([sys.executable, "-c", code], cwd=folder, check=False).returncode == 0


def test_a_job_is_put_read_and_deleted(client: Client) -> None:
    put = client.put("daily", schedule=DAILY, handler=NOOP, payload={"format": "pdf"})

    assert client.get("daily") == put
    assert put.info.next[0] == datetime(2026, 1, 1, 6, tzinfo=UTC)
    assert (put.payload, put.timeout, put.retry.max_attempts) == ({"format": "pdf"}, "PT5M", 5)
    client.delete("daily")
    with pytest.raises(NotFound, match="there is no job default/daily"):
        client.get("daily")


def test_durations_and_times_are_written_as_in_python(client: Client) -> None:
    job = client.put(
        "j",
        {"handler": NOOP},
        schedule={"every": "90s", "start": datetime(2026, 6, 1, 14, tzinfo=UTC)},
        timeout=timedelta(minutes=3),
        jitter="5m",
        retry={"initial": "10s", "max": timedelta(hours=1)},
        description="90s",
    )

    assert (job.schedule["every"], job.schedule["start"]) == ("PT1M30S", "2026-06-01T14:00:00Z")
    assert (job.timeout, job.jitter, job.retry.max) == ("PT3M", "PT5M", "PT1H")
    assert job.description == "90s"


def test_what_was_read_can_be_edited_and_put(client: Client) -> None:
    first = client.put("j", schedule=DAILY, handler=NOOP)
    second = client.put("j", {**first.definition(), "owner": "me"}, if_revision=first.revision)

    assert (second.owner, second.revision > first.revision) == ("me", True)
    with pytest.raises(Conflict, match="revision"):
        client.put("j", first.definition(), if_revision=first.revision)
    with pytest.raises(Conflict, match="exists"):
        client.put("j", first.definition(), if_absent=True)


def test_some_fields_are_changed(client: Client) -> None:
    client.put("j", schedule=DAILY, handler=NOOP, tags={"a": "1"})
    changed = client.patch("j", tags={"a": None, "b": "2"}, owner="me")

    assert (changed.tags, changed.owner) == ({"b": "2"}, "me")


def test_a_job_without_a_name_gets_one(client: Client) -> None:
    created = client.create(schedule=DAILY, handler=NOOP)

    assert client.get(created.job_id) == created
    with pytest.raises(Conflict):
        client.create(created.definition())


def test_wrong_fields_are_told_one_by_one(client: Client) -> None:
    with pytest.raises(Invalid, match="/schedule/cron") as caught:
        client.put("j", schedule={"cron": "nope"}, handler={"typ": "noop"})

    assert [error.pointer for error in caught.value.errors] == [
        "/schedule/cron",
        "/handler/type",
        "/handler/typ",
    ]
    assert caught.value.status == 422


@pytest.mark.parametrize(
    "value",
    [
        *({1, 2}, object(), b"bytes", date(2026, 1, 1), datetime(2026, 1, 1)),  # noqa: DTZ001
        *(math.nan, -math.inf, "\ud800", ["\udcff"], timedelta(seconds=-1)),
    ],
)
def test_what_is_not_json_is_told_before_anything_is_sent(client: Client, value: object) -> None:
    with pytest.raises(TypeError, match=r"^payload\.x(\.-)?: "):
        client.put("j", schedule=DAILY, handler=NOOP, payload={"x": value})


def test_a_value_without_end_is_told(client: Client) -> None:
    endless: list[object] = []
    endless.append(endless)

    with pytest.raises(ValueError, match=r"payload.*more than 64 levels"):
        client.trigger("j", payload=endless)


def test_a_wrong_parameter_is_told_once(client: Client) -> None:
    with pytest.raises(Invalid) as caught:
        list(client.list(sort="owner"))

    assert str(caught.value).count("expected one of") == 1
    assert str(caught.value).startswith("query parameter sort: ")


@pytest.mark.parametrize("name", ["", ".", "..", "j/runs", "../v1/jobs", "\udcff"])
def test_a_name_that_would_lead_elsewhere_is_refused(client: Client, name: str) -> None:
    """`j/runs` as an id would be the path of the runs of j."""
    client.put("j", schedule=DAILY, handler=NOOP)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for call in (
        *(client.get, client.put, client.patch, client.delete, client.pause, client.resume),
        *(client.trigger, client.preview, client.stats, client.backfills),
        *(client.run, client.cancel, client.redrive, client.complete),
        *(client.cancel_backfill, client.revoke_token),
        lambda job_id: client.backfill(job_id, at, at),
    ):
        with pytest.raises(Invalid, match="nothing can be named so"):
            call(name)


@pytest.mark.parametrize("token", ["a b", "a\n", "\u00fc"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="the token has blanks"):
        Client(token=token)


def test_all_pages_are_listed(client: Client) -> None:
    for number in range(7):
        client.put(f"job-{number}", schedule=DAILY, handler=NOOP, tags={"n": str(number % 2)})

    assert [job.job_id for job in client.list(page_size=3)] == [f"job-{n}" for n in range(7)]
    assert len(list(client.list(tags={"n": "1"}, page_size=2))) == 3
    assert len(list(client.list(tags={"n": None}))) == 7
    assert list(client.list(owner="nobody")) == []


def test_a_job_is_paused_and_resumed(client: Client) -> None:
    client.put("j", schedule=DAILY, handler=NOOP)

    assert (client.pause("j", "why").status_note, client.get("j").info.phase) == ("why", "paused")
    assert [job.job_id for job in client.list(status="paused")] == ["j"]
    assert client.resume("j").info.phase == "active"


def test_a_triggered_run_is_waited_for(harness: Harness, client: Client) -> None:
    client.put("j", schedule=DAILY, handler=NOOP)
    run = client.trigger("j", payload={"by": "hand"})
    with pytest.raises(StillRunning, match="pending"):
        client.wait_for_run(run.run_id, timeout=0.1)
    emitted = harness.scheduler.run_of(
        JobKey("default", "j"), harness.cluster.clock.now_ms(), run.run_id[-10:]
    )
    harness.scheduler.report(emitted, "succeeded", result=b'{"rows": 3}')
    ended = client.wait_for_run(run.run_id, timeout=10)

    assert (run.status, run.has_ended, run.cause) == ("pending", False, "manual")
    assert (ended.status, ended.result) == ("succeeded", {"rows": 3})
    assert [attempt.status for attempt in ended.attempts] == ["succeeded"]
    assert [listed.run_id for listed in client.runs("j")] == [run.run_id]
    assert list(client.runs(status=["dead", "missed"])) == []
    with pytest.raises(Conflict, match="succeeded"):
        client.cancel(run.run_id)


def test_a_schedule_is_previewed(client: Client) -> None:
    client.put("j", schedule=DAILY, handler=NOOP)
    of_job = client.preview("j", n=2)
    of_schedule = client.preview_schedule(
        {"cron": "30 2 * * *", "timezone": "Europe/Berlin"},
        n=1,
        after=datetime(2026, 3, 28, 12, tzinfo=UTC),
    )

    assert [occurrence.local for occurrence in of_job.occurrences] == [
        "2026-01-01T07:00:00",
        "2026-01-02T07:00:00",
    ]
    assert of_schedule.occurrences[0].utc == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert of_schedule.occurrences[0].dst_rule == "gap=next"


def test_a_tenant_is_sent_with_each_call(harness: Harness) -> None:
    transport = PumpingTransport(harness)
    with Client("http://localhost", tenant="acme", transport=transport) as acme:
        acme.put("j", schedule=DAILY, handler=NOOP)
        assert acme.get("j").tenant == "acme"
    with Client("http://localhost", transport=transport) as other:
        assert list(other.list()) == []
