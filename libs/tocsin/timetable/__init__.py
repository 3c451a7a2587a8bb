"""When: schedules, and the instants they stand for (pure)."""

from tocsin.timetable.describe import describe
from tocsin.timetable.durations import format_duration, parse_duration_ms
from tocsin.timetable.errors import InvalidSchedule
from tocsin.timetable.fieldset import Kind, ScheduleFields
from tocsin.timetable.jitter import due_ms, jitter_offset_ms
from tocsin.timetable.parse import parse_schedule
from tocsin.timetable.preview import Preview, preview
from tocsin.timetable.schedule import Schedule, schedule_of
from tocsin.timetable.zones import TZDATA_VERSION, zone_names

__all__ = [
    "TZDATA_VERSION",
    "InvalidSchedule",
    "Kind",
    "Preview",
    "Schedule",
    "ScheduleFields",
    "describe",
    "due_ms",
    "format_duration",
    "jitter_offset_ms",
    "parse_duration_ms",
    "parse_schedule",
    "preview",
    "schedule_of",
    "zone_names",
]
