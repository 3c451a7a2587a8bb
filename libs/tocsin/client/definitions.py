"""Job definitions as people write them in Python -> the JSON that the gateway reads."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from tocsin.durations import parse_typed_duration_ms
from tocsin.model.strict_json import MAX_DEPTH, JsonObject, JsonValue
from tocsin.timetable import format_duration
from tocsin.timetable.instants import format_instant, to_ms

_DURATIONS = frozenset(
    {
        ("schedule", "every"),
        ("jitter",),
        ("timeout",),
        ("queue_timeout",),
        ("retry", "initial"),
        ("retry", "max"),
        ("catch_up", "after"),
        ("catch_up", "window"),
        ("keep_completed",),
    }
)
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class NotJson(TypeError, ValueError):
    """A value that JSON has no place for; the message says where it stands."""


def to_json(value: object, at: tuple[str, ...] = ()) -> JsonValue:
    """The JSON value; `at`: the names of the members that lead to it.

    `timedelta`s and `90s`, `5m`, `2h`, `1d` where a duration is meant become ISO 8601, aware
    datetimes RFC 3339. Raises `NotJson`, also for a naive datetime. What is wrong in other ways is
    left for the gateway, which says it better.
    """
    if len(at) > MAX_DEPTH:
        raise _not_json(at[:3], f"more than {MAX_DEPTH} levels")
    match value:
        case timedelta() if value < timedelta():
            raise _not_json(at, f"{value.total_seconds():g} s is no duration")
        case timedelta():
            return format_duration(round(value / timedelta(milliseconds=1)))
        case datetime():
            return _instant(value, at)
        case str():
            return _duration(value) if at in _DURATIONS else _text(value, at)
        case float() if not math.isfinite(value):
            raise _not_json(at, f"{value} is not JSON")
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {_text(str(n), at): to_json(item, (*at, str(n))) for n, item in value.items()}
        case list() | tuple():
            return [to_json(item, (*at, "-")) for item in value]
    hint = "; give a datetime" if isinstance(value, date) else ""
    raise _not_json(at, f"{type(value).__name__} is not JSON{hint}")


def to_object(definition: Mapping[str, object]) -> JsonObject:
    """A definition as a JSON object; raises `NotJson`."""
    return {_text(str(n), ()): to_json(value, (str(n),)) for n, value in definition.items()}


def _instant(value: datetime, at: tuple[str, ...]) -> str:
    try:
        return format_instant(to_ms(value.astimezone(UTC) if value.tzinfo else value))
    except ValueError as error:
        raise _not_json(at, str(error)) from None


def _text(text: str, at: tuple[str, ...]) -> str:
    if _HALF_PAIR.search(text):
        raise _not_json(at, f"{text[:40]!r} has half of a surrogate pair, or is not UTF-8")
    return text


def _not_json(at: tuple[str, ...], why: str) -> NotJson:
    return NotJson(f"{'.'.join(at) or 'the value'}: {why}")


def _duration(text: str) -> str:
    try:
        return format_duration(parse_typed_duration_ms(text, minimum_ms=0))
    except ValueError:
        return text
