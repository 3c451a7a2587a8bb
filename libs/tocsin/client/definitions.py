"""Job definitions as people write them in Python -> the JSON that the gateway reads."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from tocsin.durations import parse_typed_duration_ms
from tocsin.model.strict_json import JsonObject, JsonValue
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


def to_json(value: object, at: tuple[str, ...] = ()) -> JsonValue:
    """The JSON value; `at`: the names of the members that lead to it.

    `timedelta`s and `90s`, `5m`, `2h`, `1d` where a duration is meant become ISO 8601, aware
    datetimes RFC 3339. Raises TypeError for what is not JSON, ValueError for a naive datetime.
    What is wrong in other ways is left for the gateway, which says it better.
    """
    match value:
        case timedelta():
            return format_duration(round(value / timedelta(milliseconds=1)))
        case datetime():
            return format_instant(to_ms(value.astimezone(UTC) if value.tzinfo else value))
        case str() if at in _DURATIONS:
            return _duration(value)
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(name): to_json(item, (*at, str(name))) for name, item in value.items()}
        case list() | tuple():
            return [to_json(item, (*at, "-")) for item in value]
    hint = "; give a datetime" if isinstance(value, date) else ""
    raise TypeError(f"{'.'.join(at) or 'the value'}: {type(value).__name__} is not JSON{hint}")


def to_object(definition: Mapping[str, object]) -> JsonObject:
    """A definition as a JSON object."""
    return {name: to_json(value, (name,)) for name, value in definition.items()}


def _duration(text: str) -> str:
    try:
        return format_duration(parse_typed_duration_ms(text, minimum_ms=0))
    except ValueError:
        return text
