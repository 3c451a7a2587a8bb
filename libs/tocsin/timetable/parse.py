"""From a JSON object to a schedule: the checks, in the order that the semantics fix."""

import re
from collections.abc import Mapping
from datetime import datetime

from tocsin.timetable.build import occurrences_of
from tocsin.timetable.durations import parse_duration_ms
from tocsin.timetable.errors import InvalidSchedule
from tocsin.timetable.fieldset import ScheduleFields
from tocsin.timetable.instants import parse_instant, to_ms
from tocsin.timetable.schedule import Schedule
from tocsin.timetable.zones import zone_names

KINDS = ("cron", "at", "every", "rrule")
GAP_RULES = ("next", "shift", "skip")
FOLD_RULES = ("first", "second", "both")
_KINDS = set(KINDS)
_ORDINARY = {"cron", "timezone"}
"""What most schedules consist of."""
_KEYS = _KINDS | {"timezone", "gap", "fold", "start", "end", "dtstart"}
_ZONES = zone_names()
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])0?(\d{1,2})(?::?00)?", re.IGNORECASE | re.ASCII)
_ABBREVIATIONS = {
    "EDT": "America/New_York",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "MDT": "America/Denver",
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "BST": "Europe/London",
    "CEST": "Europe/Berlin",
    "EEST": "Europe/Helsinki",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "AEST": "Australia/Sydney",
}


def parse_schedule(mapping: Mapping[str, object], *, created: datetime | None = None) -> Schedule:
    """The schedule that a JSON object describes.

    `created` anchors an interval without `start`; without both the schedule is valid, but asked
    for an occurrence it raises ValueError. Raises InvalidSchedule for the first thing wrong.
    """
    fields = parse_fields(mapping)
    created_ms = None if created is None else to_ms(created)
    return Schedule(fields, occurrences_of(fields, created_ms))


def parse_fields(mapping: Mapping[str, object]) -> ScheduleFields:
    """The object's fields with their types and options checked; the kind's text is not read."""
    cron = mapping.get("cron")
    if isinstance(cron, str) and mapping.keys() <= _ORDINARY:
        return ScheduleFields(cron, timezone=_timezone(mapping))
    kind = _kind(mapping)
    _refuse_unknown(mapping)
    timezone, gap, fold = _timezone(mapping), None, None
    start = end = None
    if len(mapping) > 1 + ("timezone" in mapping):
        gap = _choice(mapping, "gap", GAP_RULES) if "gap" in mapping else None
        fold = _choice(mapping, "fold", FOLD_RULES) if "fold" in mapping else None
        start = _instant(mapping, "start") if "start" in mapping else None
        end = _instant(mapping, "end") if "end" in mapping else None
        if start is not None and end is not None and end <= start:
            raise InvalidSchedule("end", "end must come after start")
    dtstart = _dtstart(mapping, kind)
    value = mapping[kind]
    every_ms = _every(value) if kind == "every" else None
    if kind != "every" and not isinstance(value, str):
        raise InvalidSchedule(kind, f"{kind} must be text, not {value!r:.40}")
    text = value if isinstance(value, str) else None
    return ScheduleFields(
        text if kind == "cron" else None,
        text if kind == "at" else None,
        every_ms,
        text if kind == "rrule" else None,
        dtstart,
        timezone,
        gap,
        fold,
        start,
        end,
    )


def _kind(mapping: Mapping[str, object]) -> str:
    kinds = _KINDS & mapping.keys()
    if len(kinds) != 1:
        found = " and ".join(kind for kind in KINDS if kind in kinds) or "none"
        raise InvalidSchedule("kind", f"give exactly one of cron, at, every, rrule; found {found}")
    return kinds.pop()


def _refuse_unknown(mapping: Mapping[str, object]) -> None:
    if mapping.keys() <= _KEYS:
        return
    for key in mapping:
        if key not in _KEYS:
            hint = {"tz": "timezone", "zone": "timezone", "overlap": "fold"}.get(key)
            meant = f"; is {hint} meant?" if hint else f"; known are {', '.join(sorted(_KEYS))}"
            raise InvalidSchedule("unknown", f"a schedule has no field {key!r:.40}{meant}")


def _timezone(mapping: Mapping[str, object]) -> str:
    name = mapping.get("timezone", "UTC")
    if not isinstance(name, str) or name not in _ZONES:
        raise InvalidSchedule("timezone", f"{name!r:.60} is not an IANA zone; {_zone_hint(name)}")
    return name


def _zone_hint(name: object) -> str:
    if not isinstance(name, str):
        return "give a name such as Europe/Berlin"
    asked = name.strip()
    if asked.upper() in _ABBREVIATIONS:
        return f"an abbreviation is no place; use a city such as {_ABBREVIATIONS[asked.upper()]}"
    if match := _OFFSET.fullmatch(asked):
        fixed = f"Etc/GMT{'-' if match[1] == '+' else '+'}{match[2]}"
        return f"use a city such as Europe/Berlin, or {fixed if fixed in _ZONES else 'Etc/GMT-2'}"
    near = next((zone for zone in sorted(_ZONES) if zone.casefold() == asked.casefold()), None)
    if near:
        return f"is {near} meant? Names are exact"
    return "use a city such as Europe/Berlin, or a fixed offset such as Etc/GMT-2 (two hours east)"


def _choice(mapping: Mapping[str, object], key: str, allowed: tuple[str, ...]) -> str:
    value = mapping[key]
    if isinstance(value, str) and value in allowed:
        return value
    raise InvalidSchedule(key, f"{key} must be one of {', '.join(allowed)}, not {value!r:.40}")


def _instant(mapping: Mapping[str, object], key: str) -> int:
    value = mapping[key]
    if not isinstance(value, str):
        raise InvalidSchedule(key, f"{key} must be an instant as text, not {value!r:.40}")
    try:
        return parse_instant(value)
    except ValueError as error:
        raise InvalidSchedule(key, f"{key} {value[:40]!r} is no instant: {error}") from None


def _dtstart(mapping: Mapping[str, object], kind: str) -> str | None:
    if (kind == "rrule") != ("dtstart" in mapping):
        needs = "rrule needs dtstart" if kind == "rrule" else f"{kind} takes no dtstart"
        raise InvalidSchedule("dtstart", f"{needs}; it is the first local time of a rule")
    value = mapping.get("dtstart")
    if kind == "rrule" and not isinstance(value, str):
        raise InvalidSchedule("dtstart", f"dtstart must be a local time as text, not {value!r:.40}")
    return value if isinstance(value, str) else None


def _every(value: object) -> int:
    try:
        return parse_duration_ms(value)
    except ValueError as error:
        raise InvalidSchedule("every", f"every {error}") from None
