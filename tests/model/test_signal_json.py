"""Signals as JSON: what each kind needs, may have and must not have."""

from typing import Any

import msgspec
import pytest

from tests.wire.golden_values import FULL_DEAD, FULL_RUN, RUN_ID, SIGNAL_ID
from tocsin.model.errors import InvalidSignal
from tocsin.model.runs import Dead, Error, Outcome
from tocsin.model.signal_json import check_signal, parse_signal
from tocsin.model.signals import Signal
from tocsin.model.strict_json import JsonObject, JsonValue, loads
from tocsin.timetable.instants import format_instant

MAY_1 = 1_777_593_600_000


def signal(kind: str, **fields: JsonValue) -> JsonObject:
    named = {name.rstrip("_"): value for name, value in fields.items()}
    return {"signal": kind, "signal_id": SIGNAL_ID, **named}


def refused(document: object) -> set[tuple[str, str]]:
    """Pointer and keyword of each error."""
    with pytest.raises(InvalidSignal) as caught:
        parse_signal(document)
    return {(error.pointer, error.keyword) for error in caught.value.errors}


def with_json(fields: Any, times: tuple[str, ...], **changes: JsonValue) -> JsonObject:
    """The attributes of a value as JSON, its times in RFC 3339."""
    names = {name: getattr(fields, name) for name in fields.__struct_fields__}
    written = {name: format_instant(names[name]) for name in times}
    return {**names, **written, **changes}


def dead_json(**changes: JsonValue) -> JsonObject:
    run = with_json(
        FULL_DEAD.run,
        ("scheduled_time", "due_time", "emitted_time", "expires_time"),
        handler={"type": "http", "config": {"url": "https://billing.example/report"}},
        payload=loads(FULL_DEAD.run.payload or b"null"),
    )
    error = FULL_DEAD.outcome.error
    assert error is not None
    outcome = with_json(
        FULL_DEAD.outcome,
        ("time", "started_time"),
        run=run,
        result={"pages": 3},
        error=with_json(error, ()),
    )
    return {"run": run, "outcome": outcome, "attempts": 5, **changes}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            signal("trigger", payload=[1], overlap="allow_all", assumes=41),
            Signal(
                signal="trigger",
                signal_id=SIGNAL_ID,
                payload=b"[1]",
                overlap="allow_all",
                assumes=41,
            ),
        ),
        (
            signal("backfill", from_="2026-05-01T00:00:00Z", to="2026-05-01T00:00:00.001Z"),
            Signal(signal="backfill", signal_id=SIGNAL_ID, from_time=MAY_1, to_time=MAY_1 + 1),
        ),
        (
            signal("cancel", run_id=RUN_ID),
            Signal(signal="cancel", signal_id=SIGNAL_ID, run_id=RUN_ID),
        ),
        (
            signal("cancel", backfill_id=SIGNAL_ID),
            Signal(signal="cancel", signal_id=SIGNAL_ID, backfill_id=SIGNAL_ID),
        ),
        (
            signal("complete", run_id=RUN_ID, attempt=2, succeeded=True, result={"a": 1}),
            Signal(
                signal="complete",
                signal_id=SIGNAL_ID,
                run_id=RUN_ID,
                attempt=2,
                succeeded=True,
                result=b'{"a":1}',
            ),
        ),
        (
            signal(
                "complete",
                run_id=RUN_ID,
                attempt=2,
                succeeded=False,
                error={"code": "exception", "message": "no", "retry_after_ms": 5},
            ),
            Signal(
                signal="complete",
                signal_id=SIGNAL_ID,
                run_id=RUN_ID,
                attempt=2,
                succeeded=False,
                error=Error(code="exception", message="no", retry_after_ms=5),
            ),
        ),
        (
            signal("redrive", dead=dead_json()),
            Signal(signal="redrive", signal_id=SIGNAL_ID, dead=FULL_DEAD),
        ),
    ],
)
def test_each_kind_is_read(document: JsonObject, expected: Signal) -> None:
    assert parse_signal(document) == expected


@pytest.mark.parametrize(
    ("document", "errors"),
    [
        ([], {("", "type")}),
        ({}, {("/signal", "required"), ("/signal_id", "required")}),
        (signal("start"), {("/signal", "enum")}),
        (signal("trigger", signal_id=SIGNAL_ID.upper()), {("/signal_id", "pattern")}),
        (signal("trigger", assumes=-1), {("/assumes", "minimum")}),
        (signal("trigger", assumes=True), {("/assumes", "type")}),
        (signal("trigger", payloda=1), {("/payloda", "unknown")}),
        (signal("trigger", payload="x" * 300_000), {("/payload", "size")}),
        (signal("trigger", run_id=RUN_ID), {("/run_id", "unknown")}),
        (signal("backfill"), {("/from", "required"), ("/to", "required")}),
        (signal("backfill", from_="2026-05-01", to=5), {("/from", "instant"), ("/to", "type")}),
        (
            signal("backfill", from_="2026-05-01T00:00:00Z", to="2026-05-01T02:00:00+02:00"),
            {("/to", "minimum")},
        ),
        (signal("cancel"), {("", "required")}),
        (signal("cancel", run_id=RUN_ID, backfill_id=SIGNAL_ID), {("", "required")}),
        (signal("cancel", run_id="acme.x"), {("/run_id", "pattern")}),
        (
            signal("complete"),
            {("/run_id", "required"), ("/attempt", "required"), ("/succeeded", "required")},
        ),
        (
            signal("complete", run_id=RUN_ID, attempt=0, succeeded=1),
            {("/succeeded", "type")},
        ),
        (
            signal("complete", run_id=RUN_ID, attempt=0, succeeded=True),
            {("/attempt", "minimum")},
        ),
        (
            signal("complete", run_id=RUN_ID, attempt=1, succeeded=True, result="x" * 70_000),
            {("/result", "size")},
        ),
        (
            signal("complete", run_id=RUN_ID, attempt=1, succeeded=False, result=1),
            {("/result", "unknown")},
        ),
        (
            signal("complete", run_id=RUN_ID, attempt=1, succeeded=True,
                   error={"code": "exception", "message": "m"}),
            {("/error", "unknown")},
        ),
        (
            signal("complete", run_id=RUN_ID, attempt=1, succeeded=False,
                   error={"code": "bad", "message": 1, "why": 2}),
            {("/error/code", "enum"), ("/error/message", "type"), ("/error/why", "unknown")},
        ),
        (
            signal("complete", run_id=RUN_ID, attempt=1, succeeded=False,
                   error={"code": "exception", "message": "m" * 9_000, "retry_after_ms": -1}),
            {("/error/message", "size"), ("/error/retry_after_ms", "minimum")},
        ),
        (signal("redrive"), {("/dead", "required")}),
        (signal("redrive", dead=dead_json(attempts="5")), {("/dead/attempts", "type")}),
        (
            signal("redrive", dead=dead_json(outcome=5)),
            {("/dead/outcome", "type")},
        ),
    ],
)  # fmt: skip
def test_what_a_kind_may_not_hold_is_told(document: object, errors: set[tuple[str, str]]) -> None:
    assert refused(document) == errors


def test_a_dead_record_is_of_one_run_of_one_job() -> None:
    other = Outcome(
        run_id="acme.other.20260501T050000.000Z",
        tenant="acme",
        job_id="other",
        attempt=1,
        kind="failed",
        worker="w",
        time=0,
    )
    with pytest.raises(InvalidSignal, match="/dead/outcome/run_id: is another run's"):
        check_signal(_redrive(Dead(run=FULL_RUN, outcome=other, attempts=1)))
    stranger = Dead(
        run=msgspec.structs.replace(FULL_RUN, job_id="daily"),
        outcome=FULL_DEAD.outcome,
        attempts=1,
    )
    with pytest.raises(InvalidSignal, match="is not a run of acme/daily"):
        check_signal(_redrive(stranger))


def _redrive(dead: Dead) -> Signal:
    return Signal(signal="redrive", signal_id=SIGNAL_ID, dead=dead)
