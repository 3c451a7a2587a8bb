"""Runs, outcomes and dead records as JSON: names as in Avro, times in RFC 3339, JSON as itself."""

from typing import Final, get_args

from tocsin.model.fields import Fields, instant, json_bytes, one_of, text, truth, whole
from tocsin.model.jobs import Handler, Priority
from tocsin.model.runs import Cause, Dead, Error, ErrorCode, Outcome, OutcomeKind, Run

_PRIORITIES: Final[tuple[Priority, ...]] = get_args(Priority)
_CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)
_KINDS: Final[tuple[OutcomeKind, ...]] = get_args(OutcomeKind)
_CODES: Final[tuple[ErrorCode, ...]] = get_args(ErrorCode)


def read_dead(fields: Fields) -> Dead:
    """A dead record; what is wrong is noted in `fields`, as everywhere in this module."""
    fields.require("run", "outcome", "attempts")
    dead = Dead(
        run=read_run(fields.section("run")),
        outcome=_read_outcome(fields.section("outcome")),
        attempts=fields.read("attempts", 0, whole),
    )
    fields.finish()
    return dead


def read_run(fields: Fields) -> Run:
    """A run, whole: only the payload may be left out."""
    fields.require(*(name for name in Run.__struct_fields__ if name != "payload"))
    run = Run(
        run_id=fields.read("run_id", "", text),
        scheduled_time=fields.read("scheduled_time", 0, instant),
        due_time=fields.read("due_time", 0, instant),
        emitted_time=fields.read("emitted_time", 0, instant),
        expires_time=fields.read("expires_time", 0, instant),
        attempt=fields.read("attempt", 1, whole),
        cause=fields.read("cause", "schedule", one_of(*_CAUSES)),
        tracked=fields.read("tracked", False, truth),
        max_attempts=fields.read("max_attempts", 1, whole),
        tenant=fields.read("tenant", "", text),
        job_id=fields.read("job_id", "", text),
        revision=fields.read("revision", 0, whole),
        priority=fields.read("priority", "normal", one_of(*_PRIORITIES)),
        pool=fields.read("pool", "", text),
        handler=_read_handler(fields.section("handler")),
        payload=fields.read("payload", None, json_bytes),
        timeout_ms=fields.read("timeout_ms", 0, whole),
    )
    fields.finish()
    return run


def read_error(fields: Fields) -> Error:
    """Why an attempt failed; the code is `exception` where none is given."""
    fields.require("message")
    error = Error(
        code=fields.read("code", "exception", one_of(*_CODES)),
        message=fields.read("message", "", text),
        permanent=fields.read("permanent", False, truth),
        retry_after_ms=fields.read("retry_after_ms", None, whole),
    )
    fields.finish()
    return error


def _read_outcome(fields: Fields) -> Outcome:
    fields.require("run_id", "tenant", "job_id", "attempt", "kind", "worker", "time")
    run, error = fields.optional_section("run"), fields.optional_section("error")
    outcome = Outcome(
        run_id=fields.read("run_id", "", text),
        tenant=fields.read("tenant", "", text),
        job_id=fields.read("job_id", "", text),
        attempt=fields.read("attempt", 1, whole),
        kind=fields.read("kind", "failed", one_of(*_KINDS)),
        worker=fields.read("worker", "", text),
        time=fields.read("time", 0, instant),
        started_time=fields.read("started_time", None, instant),
        lease_ms=fields.read("lease_ms", None, whole),
        run=None if run is None else read_run(run),
        result=fields.read("result", None, json_bytes),
        error=None if error is None else read_error(error),
    )
    fields.finish()
    return outcome


def _read_handler(fields: Fields) -> Handler:
    fields.require("type", "config")
    config = fields.section("config")
    handler = Handler(type=fields.read("type", "", text), config=json_bytes(config.rest()))
    fields.finish()
    return handler
