"""Tokens: made once, known by their hashes, good for one tenant and one role."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.gateway.documents import job
from tests.gateway.harness import PATIENT, Harness
from tocsin.broker.errors import BrokerUnreachable
from tocsin.model.access import ROLES, Role, Token
from tocsin.timetable.instants import format_instant
from tocsin.wire.codec import TOKEN
from tocsin_gateway.commands.audit_trail import AuditTrail

STATIC = {"Authorization": "Bearer s3cret"}
DAY_MS = 86_400_000


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Harness]:
    """A gateway with a token in its settings, two tenants and a job each."""
    options = msgspec.structs.replace(PATIENT, token="s3cret", on_loopback=False)
    with Harness(tmp_path, options) as harness:
        for tenant in ("acme", "other"):
            headers = STATIC | {"Tocsin-Tenant": tenant}
            harness.http.put("/v1/jobs/a", json=job(owner=tenant), headers=headers)
        yield harness


def made(harness: Harness, **fields: Any) -> httpx.Response:
    asked = {"name": "ci", "role": "viewer", "tenant": "acme", **fields}
    return harness.http.post("/v1/tokens", json=asked, headers=STATIC)


def bearer(harness: Harness, **fields: Any) -> dict[str, str]:
    """The header of a new token."""
    return {"Authorization": f"Bearer {made(harness, **fields).json()['token']}"}


def test_a_token_opens_its_tenant_alone(guarded: Harness) -> None:
    mine = bearer(guarded)
    seen = guarded.http.get("/v1/jobs/a", headers=mine)
    other = guarded.http.get("/v1/jobs/a", headers=mine | {"Tocsin-Tenant": "other"})

    assert (seen.status_code, seen.json()["owner"]) == (200, "acme")
    assert other.status_code == 403
    assert "other" not in other.text


def test_the_registry_names_no_pool_of_another_tenant(guarded: Harness) -> None:
    for tenant, pool in (("acme", "own"), ("other", "hushed")):
        headers = STATIC | {"Tocsin-Tenant": tenant}
        guarded.http.put("/v1/jobs/b", json=job(pool=pool), headers=headers)
    path = "/v1/schema-registry/subjects"
    mine = guarded.http.get(path, headers=bearer(guarded))
    every = guarded.http.get(path, headers=bearer(guarded, name="all", tenant=None))
    hidden = guarded.http.get(
        f"{path}/tocsin.runs.hushed.high-value/versions", headers=bearer(guarded, name="again")
    )

    assert "tocsin.runs.own.high-value" in mine.json()
    assert "hushed" not in mine.text
    assert "tocsin.runs.hushed.high-value" in every.json()
    assert hidden.status_code == 404


def test_a_token_of_all_tenants_chooses_one(guarded: Harness) -> None:
    every = bearer(guarded, tenant=None)
    other = guarded.http.get("/v1/jobs/a", headers=every | {"Tocsin-Tenant": "other"})

    assert other.json()["owner"] == "other"
    assert guarded.http.get("/v1/jobs/a", headers=every).status_code == 404


def test_the_secret_is_in_no_other_answer_and_not_in_the_log(guarded: Harness) -> None:
    secret = made(guarded).json()["token"]
    listed = guarded.http.get("/v1/tokens", headers=STATIC)
    records = [
        (record.key or b"") + (record.value or b"")
        for record in guarded.cluster.records(guarded.topics.access, 0)
    ]

    assert secret not in listed.text
    assert len(records) == 1
    assert not any(secret.encode() in record for record in records)


def test_a_revoked_token_opens_nothing_and_stays_on_the_list(guarded: Harness) -> None:
    mine = bearer(guarded)
    revoked = guarded.http.delete("/v1/tokens/ci", headers=STATIC)
    refused = guarded.http.get("/v1/jobs", headers=mine)
    (listed,) = guarded.http.get("/v1/tokens", headers=STATIC).json()["items"]

    assert (revoked.status_code, refused.status_code) == (204, 401)
    assert "revoked" in refused.json()["detail"]
    assert listed["status"] == "revoked"
    assert guarded.http.delete("/v1/tokens/ci", headers=STATIC).status_code == 404


def test_a_token_ends_when_it_expires(guarded: Harness) -> None:
    tomorrow = guarded.cluster.clock.now_ms() + DAY_MS
    mine = bearer(guarded, expires_time=format_instant(tomorrow))
    before = guarded.http.get("/v1/jobs", headers=mine)
    guarded.let_pass(DAY_MS)

    assert (before.status_code, guarded.http.get("/v1/jobs", headers=mine).status_code) == (
        200,
        401,
    )


def test_a_token_is_good_in_every_gateway_and_outlives_the_read_model(
    guarded: Harness, tmp_path: Path
) -> None:
    mine = bearer(guarded)
    (tmp_path / "other").mkdir()
    with Harness(
        tmp_path / "other",
        msgspec.structs.replace(PATIENT, on_loopback=False),
        cluster=guarded.cluster,
        scheduler=guarded.scheduler,
    ) as other:
        seen = other.http.get("/v1/jobs/a", headers=mine)
        guarded.http.delete("/v1/tokens/ci", headers=STATIC)
        other.settle()
        refused = other.http.get("/v1/jobs/a", headers=mine)

    assert (seen.status_code, refused.status_code) == (200, 401)


def test_a_name_is_good_once(guarded: Harness) -> None:
    assert made(guarded).status_code == 201
    again = made(guarded)
    guarded.http.delete("/v1/tokens/ci", headers=STATIC)

    assert (again.status_code, again.json()["type"]) == (409, "/problems/token-exists")
    assert made(guarded).status_code == 201


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"name": ""}, "/name"),
        ({"name": "a b"}, "/name"),
        ({"role": "root"}, "/role"),
        ({"tenant": "A/B"}, "/tenant"),
        ({"expires_time": "1960-01-01T00:00:00Z"}, "/expires_time"),
        ({"expires_time": 1}, "/expires_time"),
        ({"scope": "all"}, "/scope"),
    ],
)
def test_what_is_wrong_is_named(guarded: Harness, fields: dict[str, Any], pointer: str) -> None:
    answer = made(guarded, **fields)

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


ACTS: list[tuple[Role, str, str, dict[str, Any] | None]] = [
    ("viewer", "GET", "/v1/jobs", None),
    ("viewer", "GET", "/v1/jobs/a/runs", None),
    ("viewer", "GET", "/v1/jobs/a/backfills", None),
    ("viewer", "POST", "/v1/schedules:preview", {"schedule": {"every": 60}}),
    ("operator", "POST", "/v1/jobs/a/pause", {}),
    ("operator", "POST", "/v1/jobs/a/trigger", {}),
    ("operator", "POST", "/v1/jobs:bulk", {"action": "pause", "filter": {}}),
    ("operator", "POST", "/v1/runs:bulk", {"action": "cancel", "filter": {}}),
    ("editor", "POST", "/v1/jobs:bulk", {"action": "delete", "filter": {}}),
    ("editor", "PATCH", "/v1/jobs/a", {"owner": "x"}),
    ("editor", "PUT", "/v1/jobs/b", job()),
    ("admin", "GET", "/v1/audit", None),
    ("admin", "GET", "/v1/tokens", None),
    ("admin", "POST", "/v1/tokens", {"name": "x", "role": "viewer"}),
]


@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_do_its_own_and_what_those_before_it_may(guarded: Harness, role: Role) -> None:
    mine = bearer(guarded, role=role)
    for needed, method, path, body in ACTS:
        answer = guarded.http.request(method, path, json=body, headers=mine)
        allowed = ROLES.index(role) >= ROLES.index(needed)

        assert answer.is_success == allowed, (method, path, answer.text)
        assert allowed or answer.status_code == 403


def test_an_admin_of_one_tenant_sees_and_makes_its_tokens_alone(guarded: Harness) -> None:
    made(guarded, name="root", tenant=None)
    mine = bearer(guarded, name="boss", role="admin")
    own = guarded.http.post("/v1/tokens", json={"name": "x", "role": "viewer"}, headers=mine)
    wide = guarded.http.post(
        "/v1/tokens", json={"name": "y", "role": "viewer", "tenant": None}, headers=mine
    )
    listed = guarded.http.get("/v1/tokens", headers=mine).json()["items"]

    assert (own.json()["tenant"], wide.status_code) == ("acme", 403)
    assert [each["name"] for each in listed] == ["boss", "x"]
    assert guarded.http.delete("/v1/tokens/root", headers=mine).status_code == 404


def test_a_record_that_is_no_token_lets_nobody_in(guarded: Harness) -> None:
    producer = guarded.cluster.producer()
    token = TOKEN.encode(Token(name="x", role="admin", created_time=0))
    for value in (b"", b"rubbish", token[:-1]):
        producer.produce(guarded.topics.access, b"0" * 64, value)
    guarded.settle()

    assert guarded.http.get("/v1/jobs", headers={"Authorization": "Bearer x"}).status_code == 401
    assert guarded.http.get("/v1/tokens", headers=STATIC).json() == {"items": []}


def test_with_the_first_token_this_machine_needs_one_too(harness: Harness) -> None:
    open_before = harness.http.get("/v1/jobs").status_code
    harness.http.post("/v1/tokens", json={"name": "ops", "role": "admin"})

    assert (open_before, harness.http.get("/v1/jobs").status_code) == (200, 401)


class TestAudit:
    def test_each_deed_is_recorded_with_who_did_it(self, guarded: Harness) -> None:
        mine = bearer(guarded, name="ed", role="editor")
        first = guarded.http.put(
            "/v1/jobs/b", json=job(), headers=mine | {"X-Request-Id": "request-1"}
        ).json()["info"]["revision"]
        second = guarded.http.patch("/v1/jobs/b", json={"owner": "x"}, headers=mine)
        guarded.http.post("/v1/jobs/b/trigger", headers=mine)
        guarded.http.delete("/v1/jobs/b", headers=mine)
        found = audit(guarded)

        changed = second.json()["info"]["revision"]
        assert [(e["action"], e["before_revision"], e["after_revision"]) for e in found[:4]] == [
            ("delete", changed, None),
            ("trigger", None, None),
            ("patch", first, changed),
            ("put", None, first),
        ]
        assert {(e["actor"], e["object"]) for e in found[:4]} == {("token:ed", "job/b")}
        assert found[3]["request_id"] == "request-1"

    def test_what_was_refused_repeated_or_only_tried_is_not(self, guarded: Harness) -> None:
        key = STATIC | {"Tocsin-Tenant": "acme", "Idempotency-Key": "1"}
        before = len(audit(guarded))
        guarded.http.patch("/v1/jobs/a", json={"owner": 1}, headers=key)
        guarded.http.patch("/v1/jobs/a?dry_run=true", json={"owner": "y"}, headers=STATIC)
        guarded.http.put(
            "/v1/jobs/a", json=job(owner="acme"), headers=STATIC | {"Tocsin-Tenant": "acme"}
        )
        for _ in range(2):
            guarded.http.patch("/v1/jobs/a", json={"owner": "x"}, headers=key)

        assert len(audit(guarded)) == before + 1

    @pytest.mark.parametrize(
        ("method", "path"), [("DELETE", ""), ("POST", "/trigger"), ("POST", "/pause")]
    )
    def test_a_gateway_that_dies_after_the_deed_has_said_who_began_it(
        self, guarded: Harness, method: str, path: str
    ) -> None:
        """The producer's last words never arrive: the process is gone."""
        mine = bearer(guarded, name="ed", role="editor")
        before = audit(guarded)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AuditTrail, "end", dies)
            with pytest.raises(Died):
                guarded.http.request(method, f"/v1/jobs/a{path}", headers=mine)
        (entry, *others) = audit(guarded)

        assert others == before
        assert (entry["actor"], entry["object"], entry["outcome"]) == (
            "token:ed",
            "job/a",
            "unknown",
        )
        assert {each["outcome"] for each in others} == {"done"}

    def test_without_a_record_of_its_beginning_nothing_is_done(
        self, guarded: Harness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        send = guarded.gateway.producer.send

        def refuse_audit(topic: str, *rest: Any, **further: Any) -> Any:
            if topic == guarded.topics.audit:
                raise BrokerUnreachable("gone")
            return send(topic, *rest, **further)

        monkeypatch.setattr(guarded.gateway.producer, "send", refuse_audit)
        headers = STATIC | {"Tocsin-Tenant": "acme"}
        before = guarded.http.get("/v1/jobs/a", headers=headers).json()
        answer = guarded.http.post("/v1/jobs/a/pause", headers=headers)

        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/not-durable")
        assert guarded.http.get("/v1/jobs/a", headers=headers).json() == before

    def test_it_is_the_tenants_own_and_in_pages(self, guarded: Harness) -> None:
        headers = STATIC | {"Tocsin-Tenant": "acme"}
        for number in range(5):
            guarded.http.patch("/v1/jobs/a", json={"owner": str(number)}, headers=headers)
        guarded.settle()
        found: list[dict[str, Any]] = []
        query = {"limit": "2"}
        while True:
            page = guarded.http.get("/v1/audit", params=query, headers=headers).json()
            found += page["items"]
            if "next_cursor" not in page:
                break
            query["cursor"] = page["next_cursor"]

        assert [each["action"] for each in found] == ["patch"] * 5 + ["put"]
        assert audit(guarded, object="job/none") == []
        assert audit(guarded, tenant="third") == []

    def test_a_bulk_command_is_recorded_for_each(self, guarded: Harness) -> None:
        guarded.http.post(
            "/v1/jobs:bulk",
            json={"action": "pause", "filter": {}, "expect": 1},
            headers=STATIC | {"Tocsin-Tenant": "acme"},
        )

        newest = audit(guarded)[0]
        assert (newest["action"], newest["object"]) == ("pause", "job/a")


class Died(BaseException):
    """The process is gone."""


async def dies(*_: object) -> None:
    raise Died


def audit(harness: Harness, tenant: str = "acme", **query: str) -> list[dict[str, Any]]:
    harness.settle()
    headers = STATIC | {"Tocsin-Tenant": tenant}
    found: list[dict[str, Any]] = harness.http.get(
        "/v1/audit", params=query, headers=headers
    ).json()["items"]
    return found
