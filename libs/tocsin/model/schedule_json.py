"""The schedule of a job as JSON."""

from functools import lru_cache
from typing import Final

from tocsin.model.errors import FieldError, pointer
from tocsin.model.fields import Fields
from tocsin.model.strict_json import JsonObject
from tocsin.timetable import InvalidSchedule, ScheduleFields, format_duration, parse_schedule
from tocsin.timetable.instants import format_instant, in_range

_OPTIONS: Final = frozenset(
    {"cron", "at", "every", "rrule", "dtstart", "timezone", "gap", "fold", "start", "end"}
)
_WHOLE: Final = frozenset({"kind", "unknown", "never"})


def read_schedule(fields: Fields, default: ScheduleFields) -> ScheduleFields:
    """The member `schedule`; where it is wrong that is noted, and `default` stands for it."""
    schedule = fields.optional_section("schedule")
    if schedule is None or not schedule.is_object:
        return default
    try:
        return parse_schedule(schedule.rest()).fields
    except InvalidSchedule as error:
        fields.error(_place(error), error.keyword, str(error))
        return default


def render_schedule(schedule: ScheduleFields) -> JsonObject:
    """The object that is read as `schedule`; what is not set is left out."""
    given: JsonObject = {
        "cron": schedule.cron,
        "at": schedule.at,
        "every": None if schedule.every_ms is None else format_duration(schedule.every_ms),
        "rrule": schedule.rrule,
        "dtstart": schedule.dtstart,
        "timezone": schedule.timezone,
        "gap": schedule.gap,
        "fold": schedule.fold,
        "start": None if schedule.start is None else format_instant(schedule.start),
        "end": None if schedule.end is None else format_instant(schedule.end),
    }
    return {name: value for name, value in given.items() if value is not None}


@lru_cache(maxsize=4096)
def schedule_error(schedule: ScheduleFields) -> FieldError | None:
    """The first rule that fields from Avro break, if any; many jobs share a schedule."""
    for name, bound in (("start", schedule.start), ("end", schedule.end)):
        try:
            in_range(bound or 0)
        except ValueError as error:
            return FieldError(pointer=pointer("schedule", name), keyword=name, message=str(error))
    try:
        parse_schedule(render_schedule(schedule))
    except InvalidSchedule as error:
        at = pointer(*_place(error))
        return FieldError(pointer=at, keyword=error.keyword, message=str(error))
    return None


def _place(error: InvalidSchedule) -> tuple[str, ...]:
    """Where an error of the timetable belongs; the other keywords are fields of `cron`."""
    if error.keyword in _WHOLE:
        return ("schedule",)
    return ("schedule", error.keyword if error.keyword in _OPTIONS else "cron")
