"""What a definition may hold: one set of rules for JSON and Avro (`docs/reference/jobs.md`)."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Final

from tocsin.model.errors import FieldError, pointer
from tocsin.model.handlers import handler_errors
from tocsin.model.jobs import CatchUp, Handler, Job, Retry
from tocsin.model.keys import InvalidKey, job_key
from tocsin.model.schedule_json import schedule_error
from tocsin.model.strict_json import InvalidJson, loads
from tocsin.timetable import format_duration

KIB: Final = 1024
MAX_PAYLOAD_BYTES: Final = 256 * KIB
MAX_DEFINITION_BYTES: Final = 384 * KIB
MAX_RESULT_BYTES: Final = 64 * KIB
MAX_ERROR_BYTES: Final = 8 * KIB
MAX_TAGS: Final = 32
MAX_TAG_KEY: Final = 63
MAX_TAG_VALUE: Final = 128
MAX_OWNER: Final = 128
MAX_DESCRIPTION: Final = 2_000
MAX_ATTEMPTS: Final = 10_000
MAX_MULTIPLIER: Final = 1_000

SECOND_MS: Final = 1_000
DAY_MS: Final = 86_400_000
LONGEST_MS: Final = 36_500 * DAY_MS
INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1

_POOL = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def job_errors(job: Job) -> Iterator[FieldError]:
    """All that is wrong with a definition, whatever it was read from."""
    return chain(
        _key_errors(job),
        _schedule_errors(job),
        _text_errors(job),
        _tag_errors(job),
        _handler_errors(job.handler),
        json_errors("/payload", job.payload, MAX_PAYLOAD_BYTES),
        _size_errors(job),
        _number_errors(
            job.retry,
            job.catch_up,
            (job.jitter_ms, job.timeout_ms, job.queue_timeout_ms, job.keep_completed_ms),
            job.max_runs,
            job.pause_on_failures,
        ),
    )


def name_errors(at: str, text: str | None, limit: int) -> Iterator[FieldError]:
    """A text that is not blank, if it is there at all."""
    if text is None:
        return
    if not text.strip():
        yield FieldError(pointer=at, keyword="blank", message="is blank; leave it out instead")
    yield from text_errors(at, text, limit)


def text_errors(at: str, text: str, limit: int) -> Iterator[FieldError]:
    """At most `limit` characters, and none that a database cannot hold."""
    if len(text) > limit:
        message = f"has {len(text):,} characters; the most is {limit:,}"
        yield FieldError(pointer=at, keyword="length", message=message)
    if _UNSTORABLE.search(text):
        message = "has a NUL character or half of a surrogate pair"
        yield FieldError(pointer=at, keyword="characters", message=message)


def json_errors(at: str, data: bytes | None, limit: int) -> Iterator[FieldError]:
    """JSON in bytes: at most `limit` of them, and strict."""
    if data is None:
        return
    if len(data) > limit:
        message = f"is {len(data):,} bytes of JSON; the most is {limit:,}"
        yield FieldError(pointer=at, keyword="size", message=message)
        return
    try:
        loads(data)
    except InvalidJson as error:
        yield FieldError(pointer=at, keyword="json", message=f"is not JSON: {error}")


def range_errors(at: str, value: float | None, low: int, high: int) -> Iterator[FieldError]:
    """A number, low <= value <= high."""
    if value is None or low <= value <= high:
        return
    keyword = "maximum" if value > high else "minimum"
    message = f"is {value:,}; it must lie between {low:,} and {high:,}"
    yield FieldError(pointer=at, keyword=keyword, message=message)


def duration_errors(at: str, value: int | None, low: int, high: int) -> Iterator[FieldError]:
    """Milliseconds that are whole seconds, low <= value <= high."""
    if value is None:
        return
    if not low <= value <= high:
        keyword = "maximum" if value > high else "minimum"
        bounds = f"{format_duration(low)} and {format_duration(high)}"
        message = f"is {value / SECOND_MS:,g} s; it must lie between {bounds}"
        yield FieldError(pointer=at, keyword=keyword, message=message)
    elif value % SECOND_MS:
        message = f"is {value:,} ms; it must be whole seconds"
        yield FieldError(pointer=at, keyword="duration", message=message)


def _key_errors(job: Job) -> Iterator[FieldError]:
    try:
        job_key(job.tenant, job.job_id)
    except InvalidKey as error:
        yield FieldError(pointer="/job_id", keyword="pattern", message=str(error))
    if not _POOL.fullmatch(job.pool):
        message = "is not a pool: 1 to 63 of a-z, 0-9 and '-', beginning with a letter or digit"
        yield FieldError(pointer="/pool", keyword="pattern", message=message)


def _schedule_errors(job: Job) -> Iterator[FieldError]:
    error = schedule_error(job.schedule)
    if error is not None:
        yield error


def _text_errors(job: Job) -> Iterator[FieldError]:
    yield from name_errors("/owner", job.owner, MAX_OWNER)
    yield from name_errors("/description", job.description, MAX_DESCRIPTION)
    yield from name_errors("/status_note", job.status_note, MAX_DESCRIPTION)


def _tag_errors(job: Job) -> Iterator[FieldError]:
    if len(job.tags) > MAX_TAGS:
        message = f"has {len(job.tags):,} tags; the most is {MAX_TAGS}"
        yield FieldError(pointer="/tags", keyword="count", message=message)
        return
    for key, value in job.tags.items():
        at = pointer("tags", key)
        yield from name_errors(at, key, MAX_TAG_KEY)
        yield from text_errors(at, value, MAX_TAG_VALUE)


def _size_errors(job: Job) -> Iterator[FieldError]:
    """What can grow, in bytes; the other fields are bounded one by one."""
    size = len(job.payload or b"") + len(job.handler.config)
    if size > MAX_DEFINITION_BYTES:
        message = f"payload and handler are {size:,} bytes; the most is {MAX_DEFINITION_BYTES:,}"
        yield FieldError(pointer="", keyword="size", message=message)


def _handler_errors(handler: Handler) -> Iterable[FieldError]:
    """Remembered where the configuration is short: many jobs share one."""
    return _known(handler) if len(handler.config) <= KIB else handler_errors(handler)


@lru_cache(maxsize=4096)
def _known(handler: Handler) -> tuple[FieldError, ...]:
    return tuple(handler_errors(handler))


@lru_cache(maxsize=4096)
def _number_errors(
    retry: Retry,
    catch_up: CatchUp,
    durations: tuple[int, int, int, int],
    max_runs: int | None,
    pause_on_failures: int | None,
) -> tuple[FieldError, ...]:
    """All numbers and durations; jobs that leave them at their defaults share the answer."""
    jitter, timeout, queue_timeout, keep_completed = durations
    return (
        *duration_errors("/jitter", jitter, 0, DAY_MS),
        *duration_errors("/timeout", timeout, SECOND_MS, 30 * DAY_MS),
        *duration_errors("/queue_timeout", queue_timeout, SECOND_MS, 6 * DAY_MS),
        *duration_errors("/keep_completed", keep_completed, 0, LONGEST_MS),
        *duration_errors("/retry/initial", retry.initial_ms, 0, LONGEST_MS),
        *duration_errors("/retry/max", retry.max_ms, 0, LONGEST_MS),
        *duration_errors("/catch_up/after", catch_up.after_ms, 0, DAY_MS),
        *duration_errors("/catch_up/window", catch_up.window_ms, SECOND_MS, LONGEST_MS),
        *range_errors("/retry/max_attempts", retry.max_attempts, 1, MAX_ATTEMPTS),
        *range_errors("/retry/multiplier", retry.multiplier, 1, MAX_MULTIPLIER),
        *range_errors("/max_runs", max_runs, 1, LONG_MAX),
        *range_errors("/pause_on_failures", pause_on_failures, 1, INT_MAX),
    )
