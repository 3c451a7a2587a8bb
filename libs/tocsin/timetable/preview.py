"""The next occurrences for a person: in UTC, on the zone's clock, and where a DST rule acted."""

from datetime import datetime
from itertools import islice
from typing import NamedTuple

from tocsin.timetable.instants import format_instant, format_reading, to_ms
from tocsin.timetable.occurrences import Occurrences, Once, Until, WallOccurrences
from tocsin.timetable.schedule import Schedule
from tocsin.timetable.zones import zone_of


class Preview(NamedTuple):
    """One occurrence. `local` is its reading without offset, `offset` is such as `+02:00`."""

    utc: str
    local: str
    offset: str
    dst_rule: str | None
    """The rule that made or chose it, such as `gap=next` or `fold=first`; None on ordinary days."""


def preview(schedule: Schedule, after: datetime, n: int) -> list[Preview]:
    """The next n occurrences strictly after an aware instant; fewer if no more are left."""
    return [_preview(schedule, ms) for ms in islice(schedule.occurrences_ms(to_ms(after)), n)]


def _preview(schedule: Schedule, instant_ms: int) -> Preview:
    offset = zone_of(schedule.fields.timezone).span(instant_ms // 1000).offset
    return Preview(
        utc=format_instant(instant_ms),
        local=format_reading(instant_ms + offset * 1000),
        offset=_format_offset(offset),
        dst_rule=_dst_rule(schedule.occurrences, instant_ms),
    )


def _dst_rule(occurrences: Occurrences, instant_ms: int) -> str | None:
    match occurrences:
        case Once():
            return occurrences.dst_rule
        case Until():
            return _dst_rule(occurrences.occurrences, instant_ms)
        case WallOccurrences():
            return occurrences.dst_rule(instant_ms // 1000)
        case _:
            return None


def _format_offset(offset: int) -> str:
    sign, size = ("-", -offset) if offset < 0 else ("+", offset)
    text = f"{sign}{size // 3600:02}:{size // 60 % 60:02}"
    return f"{text}:{size % 60:02}" if size % 60 else text
