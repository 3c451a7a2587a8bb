"""A schedule as a sentence in English."""

from tocsin.timetable.cron import parse_cron
from tocsin.timetable.cronwords import cron_words
from tocsin.timetable.english import duration
from tocsin.timetable.fieldset import ScheduleFields
from tocsin.timetable.instants import format_instant, has_offset
from tocsin.timetable.rule import parse_rule
from tocsin.timetable.rulewords import rule_words
from tocsin.timetable.schedule import Schedule

_GAP = {
    "next": "a time that the clocks skip comes right after the jump",
    "shift": "a time that the clocks skip comes as much later as they jump",
    "skip": "a time that the clocks skip is left out",
}
_FOLD = {
    "first": "a time that comes twice counts the first time",
    "second": "a time that comes twice counts the second time",
    "both": "a time that comes twice counts both times",
}


def describe(schedule: Schedule) -> str:
    """What the schedule means, in one sentence."""
    fields = schedule.fields
    words = _when(fields) + _window(fields) + _dst_rules(fields)
    return f"{words[0].upper()}{words[1:]}."


def _when(fields: ScheduleFields) -> str:
    if fields.cron is not None:
        return f"{cron_words(fields.cron)}, {_zone(fields)}"
    if fields.rrule is not None and fields.dtstart is not None:
        return f"{rule_words(fields.rrule, fields.dtstart)}, {_zone(fields)}"
    if fields.every_ms is not None:
        one = fields.every_ms in (1000, 60_000, 3_600_000, 86_400_000)
        return f"every {duration(fields.every_ms).removeprefix('1 ' if one else '')}"
    return _once(fields)


def _once(fields: ScheduleFields) -> str:
    text = (fields.at or "").upper()
    if _at_instant(fields):
        return f"once, at {text}"
    date, _, time = text.partition("T")
    return f"once, on {date} at {time}, {_zone(fields)}"


def _at_instant(fields: ScheduleFields) -> bool:
    return fields.at is not None and has_offset(fields.at)


def _zone(fields: ScheduleFields) -> str:
    return "UTC" if fields.timezone == "UTC" else f"{fields.timezone} time"


def _window(fields: ScheduleFields) -> str:
    start, end = fields.start, fields.end
    if fields.every_ms is not None:
        first = "its creation" if start is None else format_instant(start)
        words = f", counted from {first}"
    else:
        words = "" if start is None else f", from {format_instant(start)} on"
    return words if end is None else f"{words}, before {format_instant(end)}"


def _dst_rules(fields: ScheduleFields) -> str:
    """The rules for changes of the clocks, where they are given and have an effect."""
    if fields.every_ms is not None or _at_instant(fields) or _is_elapsed(fields):
        return ""
    fold = "first" if fields.at is not None and fields.fold == "both" else fields.fold
    words = [_GAP[fields.gap]] if fields.gap else []
    words += [_FOLD[fold]] if fold else []
    return "".join(f"; {word}" for word in words)


def _is_elapsed(fields: ScheduleFields) -> bool:
    if fields.cron is not None:
        return parse_cron(fields.cron).elapsed
    return fields.rrule is not None and parse_rule(fields.rrule).elapsed
