"""A job as JSON: API body, JSON command and entry of `jobs.yaml` are the same object."""

from collections.abc import Callable, Iterable
from typing import Final, get_args

from tocsin.model.errors import FieldError, InvalidJob
from tocsin.model.fields import (
    Fields,
    duration_ms,
    json_bytes,
    number,
    one_of,
    text,
    whole,
)
from tocsin.model.jobs import (
    CatchUp,
    CatchUpPolicy,
    Handler,
    Job,
    Overlap,
    Priority,
    Retry,
    RetryJitter,
    Status,
)
from tocsin.model.keys import JobKey
from tocsin.model.limits import job_errors
from tocsin.model.schedule_json import read_schedule, render_schedule
from tocsin.model.strict_json import JsonObject, JsonValue, loads
from tocsin.timetable import ScheduleFields, format_duration

READ_ONLY: Final = "info"

FurtherRules = Callable[[Handler], Iterable[FieldError]]
"""What somebody demands of a handler's configuration beyond the rules that all readers know."""

_PRIORITIES: Final[tuple[Priority, ...]] = get_args(Priority)
_STATUSES: Final[tuple[Status, ...]] = get_args(Status)
_OVERLAPS: Final[tuple[Overlap, ...]] = get_args(Overlap)
_CATCH_UPS: Final[tuple[CatchUpPolicy, ...]] = get_args(CatchUpPolicy)
_JITTERS: Final[tuple[RetryJitter, ...]] = get_args(RetryJitter)

# Stand for what could not be read, so that the rest can be checked too.
_SOME_SCHEDULE: Final = ScheduleFields(cron="0 0 * * *")
_SOME_HANDLER: Final = Handler(type="noop")
_DEFAULT: Final = Job(
    tenant="default", job_id="default", schedule=_SOME_SCHEDULE, handler=_SOME_HANDLER
)


def parse_job(document: object, key: JobKey, further: FurtherRules = lambda _: ()) -> Job:
    """The definition that `document`, a JSON value, states for the job `key`.

    `status` left out stays None and `every` without `start` stays without: the fold of the jobs
    topic fills them in. Raises `InvalidJob` with every wrong field.
    """
    errors: list[FieldError] = []
    job = _read_job(Fields(document, errors), key)
    errors += [*job_errors(job), *further(job.handler)]
    if errors:
        raise InvalidJob(errors)
    return job


def check_job(job: Job) -> None:
    """Raises `InvalidJob` where a definition that came in Avro breaks a rule."""
    errors = tuple(job_errors(job))
    if errors:
        raise InvalidJob(errors)


def render_job(job: Job) -> JsonObject:
    """The object that `parse_job` reads as `job`; `status` None is left out."""
    return {
        "job_id": job.job_id,
        "tenant": job.tenant,
        "owner": job.owner,
        "description": job.description,
        "tags": dict(job.tags),
        "schedule": render_schedule(job.schedule),
        "handler": _render_handler(job.handler),
        "payload": None if job.payload is None else loads(job.payload),
        "pool": job.pool,
        "priority": job.priority,
        "jitter": format_duration(job.jitter_ms),
        "timeout": format_duration(job.timeout_ms),
        "queue_timeout": format_duration(job.queue_timeout_ms),
        "retry": _render_retry(job.retry),
        "overlap": job.overlap,
        "catch_up": _render_catch_up(job.catch_up),
        "max_runs": job.max_runs,
        "pause_on_failures": job.pause_on_failures,
        "keep_completed": format_duration(job.keep_completed_ms),
        **({} if job.status is None else {"status": job.status}),
        "status_note": job.status_note,
    }


def _read_job(fields: Fields, key: JobKey) -> Job:
    fields.require("schedule", "handler")
    _check_agreement(fields, key)
    fields.skip(READ_ONLY)
    job = Job(
        tenant=key.tenant,
        job_id=key.job_id,
        schedule=read_schedule(fields, _SOME_SCHEDULE),
        handler=_read_handler(fields),
        payload=fields.read("payload", None, json_bytes),
        owner=fields.read("owner", None, text),
        description=fields.read("description", None, text),
        tags=fields.texts("tags"),
        pool=fields.read("pool", _DEFAULT.pool, text),
        priority=fields.read("priority", _DEFAULT.priority, one_of(*_PRIORITIES)),
        jitter_ms=fields.read("jitter", _DEFAULT.jitter_ms, duration_ms),
        timeout_ms=fields.read("timeout", _DEFAULT.timeout_ms, duration_ms),
        queue_timeout_ms=fields.read("queue_timeout", _DEFAULT.queue_timeout_ms, duration_ms),
        retry=_read_retry(fields.section("retry")),
        overlap=fields.read("overlap", _DEFAULT.overlap, one_of(*_OVERLAPS)),
        catch_up=_read_catch_up(fields.section("catch_up")),
        max_runs=fields.read("max_runs", None, whole),
        pause_on_failures=fields.read("pause_on_failures", None, whole),
        keep_completed_ms=fields.read("keep_completed", _DEFAULT.keep_completed_ms, duration_ms),
        status=fields.read("status", None, one_of(*_STATUSES)),
        status_note=fields.read("status_note", None, text),
    )
    fields.finish()
    return job


def _check_agreement(fields: Fields, key: JobKey) -> None:
    for name, expected in (("job_id", key.job_id), ("tenant", key.tenant)):
        given = fields.read(name, expected, text)
        if given != expected:
            message = f"is {given[:200]!r}, but the job is {key}; leave it out or make them agree"
            fields.error((name,), "agree", message)


def _read_handler(fields: Fields) -> Handler:
    if not fields.has("handler"):
        return _SOME_HANDLER
    handler = fields.section("handler")
    handler.require("type")
    kind = handler.read("type", _SOME_HANDLER.type, text)
    return Handler(type=kind, config=json_bytes(handler.rest()))


def _read_retry(fields: Fields) -> Retry:
    default = _DEFAULT.retry
    retry = Retry(
        max_attempts=fields.read("max_attempts", default.max_attempts, whole),
        initial_ms=fields.read("initial", default.initial_ms, duration_ms),
        multiplier=fields.read("multiplier", default.multiplier, number),
        max_ms=fields.read("max", default.max_ms, duration_ms),
        jitter=fields.read("jitter", default.jitter, one_of(*_JITTERS)),
    )
    fields.finish()
    return retry


def _read_catch_up(fields: Fields) -> CatchUp:
    default = _DEFAULT.catch_up
    catch_up = CatchUp(
        policy=fields.read("policy", default.policy, one_of(*_CATCH_UPS)),
        after_ms=fields.read("after", default.after_ms, duration_ms),
        window_ms=fields.read("window", None, duration_ms),
    )
    fields.finish()
    return catch_up


def _render_handler(handler: Handler) -> JsonValue:
    config = loads(handler.config)
    return {"type": handler.type, **(config if isinstance(config, dict) else {})}


def _render_retry(retry: Retry) -> JsonValue:
    whole = retry.multiplier.is_integer()
    return {
        "max_attempts": retry.max_attempts,
        "initial": format_duration(retry.initial_ms),
        "multiplier": int(retry.multiplier) if whole else retry.multiplier,
        "max": format_duration(retry.max_ms),
        "jitter": retry.jitter,
    }


def _render_catch_up(catch_up: CatchUp) -> JsonValue:
    window = catch_up.window_ms
    return {
        "policy": catch_up.policy,
        "after": format_duration(catch_up.after_ms),
        "window": None if window is None else format_duration(window),
    }
