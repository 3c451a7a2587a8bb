"""From the fields of a schedule to its occurrences; here its text is read."""

from tocsin.timetable.cron import parse_cron
from tocsin.timetable.elapsed import ElapsedOccurrences
from tocsin.timetable.errors import InvalidSchedule
from tocsin.timetable.fieldset import ScheduleFields
from tocsin.timetable.instants import (
    DAY,
    LAST,
    LAST_MS,
    has_offset,
    in_range,
    parse_instant,
    parse_local,
)
from tocsin.timetable.occurrences import (
    Interval,
    Occurrences,
    Once,
    ReadInstants,
    Unanchored,
    Until,
    WallOccurrences,
)
from tocsin.timetable.recurrence import RuleWalls, year_of
from tocsin.timetable.rule import Rule, parse_rule
from tocsin.timetable.zones import Zone, zone_of

RULE_HORIZON = 36_525 * DAY
"""A rule that matches nothing in this time from its dtstart never does."""


def occurrences_of(fields: ScheduleFields, created_ms: int | None) -> Occurrences:
    """The occurrences before the window is applied.

    `created_ms` anchors an interval without start. Raises InvalidSchedule.
    """
    if fields.cron is not None:
        return _cron_occurrences(fields.cron, fields)
    if fields.every_ms is not None:
        return _interval(fields.every_ms, fields.start, created_ms)
    if fields.at is not None:
        return _once(fields.at, fields)
    if fields.rrule is None or fields.dtstart is None:
        raise InvalidSchedule("kind", "give one of cron, at, every, or rrule with dtstart")
    return _rule_occurrences(fields.rrule, fields.dtstart, fields)


def _cron_occurrences(text: str, fields: ScheduleFields) -> Occurrences:
    cron, zone = parse_cron(text), _zone(fields.timezone)
    if cron.elapsed:
        return ReadInstants(cron.walls, zone)
    return WallOccurrences(cron.walls, zone, fields.gap or "next", fields.fold or "first")


def _zone(name: str) -> Zone:
    try:
        return zone_of(name)
    except KeyError:
        raise InvalidSchedule("timezone", f"{name!r:.60} is not an IANA zone") from None


def _interval(every_ms: int, start: int | None, created_ms: int | None) -> Occurrences:
    if every_ms <= 0:
        raise InvalidSchedule("every", f"every must be longer than nothing, not {every_ms} ms")
    if start is not None:
        return Interval(start, every_ms)
    if created_ms is not None:
        return Interval(created_ms + every_ms, every_ms)
    return Unanchored()


def _once(text: str, fields: ScheduleFields) -> Once:
    gap, fold = fields.gap or "next", fields.fold or "first"
    try:
        if has_offset(text):
            once = Once(parse_instant(text))
        else:
            once = resolve(parse_local(text), _zone(fields.timezone), gap, fold)
    except ValueError as error:
        raise _refined("at", f"{text[:40]!r} is no instant and no local time", error) from None
    if once.at_ms > LAST_MS or not _in_window(once.at_ms, fields):
        raise InvalidSchedule("never", f"at {text} lies outside the window of start and end")
    return once


def _in_window(instant_ms: int, fields: ScheduleFields) -> bool:
    after_start = fields.start is None or instant_ms >= fields.start
    return after_start and (fields.end is None or instant_ms < fields.end)


def _rule_occurrences(text: str, dtstart: str, fields: ScheduleFields) -> Occurrences:
    first = _dtstart(dtstart)
    rule = parse_rule(text)
    gap, fold = fields.gap or "shift", fields.fold or "first"
    zone = _zone(fields.timezone)
    occurrences = (
        _elapsed_rule(rule, first, zone, gap, fold)
        if rule.elapsed
        else _wall_rule(rule, first, zone, gap, fold)
    )
    if rule.until is not None and rule.until_utc:
        return Until(occurrences, rule.until * 1000)
    return occurrences


def _dtstart(text: str) -> int:
    try:
        if "." in text and text.partition(".")[2].strip("0"):
            raise ValueError("it takes whole seconds")
        return parse_local(text) // 1000
    except ValueError as error:
        message = f"dtstart {text[:40]!r} is no local time: {error}"
        raise InvalidSchedule("dtstart", message) from None


def _wall_rule(rule: Rule, first: int, zone: Zone, gap: str, fold: str) -> Occurrences:
    walls = RuleWalls(rule, first)
    wall = walls.find(first, last_year=year_of(first + RULE_HORIZON))
    if wall - first >= RULE_HORIZON or not _reached(rule, wall, zone):
        raise _never_kept()
    return WallOccurrences(walls, zone, gap, fold)


def _elapsed_rule(rule: Rule, first: int, zone: Zone, gap: str, fold: str) -> Occurrences:
    try:
        anchor = resolve(first * 1000, zone, gap, fold).at_ms // 1000
    except ValueError as error:
        raise _refined("dtstart", "dtstart", error) from None
    occurrences = ElapsedOccurrences(rule, anchor, zone)
    last = anchor + RULE_HORIZON - 1
    if occurrences.find(anchor, last if rule.until is None else min(last, rule.until)) is None:
        raise _never_kept()
    return occurrences


def _reached(rule: Rule, wall: int, zone: Zone) -> bool:
    """Whether UNTIL in UTC leaves the rule its first reading."""
    if rule.until is None or not rule.until_utc or wall < rule.until - 2 * DAY:
        return True
    try:
        return resolve(wall * 1000, zone, "shift", "first").at_ms <= rule.until * 1000
    except ValueError:  # outside 1970-9999, where nothing occurs anyway
        return wall <= rule.until


def _never_kept() -> InvalidSchedule:
    message = "the rule matches no time between dtstart and its UNTIL, or in the 100 years from it"
    return InvalidSchedule("never", message)


def resolve(reading_ms: int, zone: Zone, gap: str, fold: str) -> Once:
    """The one instant of a single local time; `both` means `first`.

    Raises InvalidSchedule (`gap`) where `skip` leaves none, ValueError outside 1970-9999.
    """
    second, milliseconds = divmod(reading_ms, 1000)
    if not -2 * DAY < second < LAST + 2 * DAY:
        in_range(reading_ms)
    readings = zone.readings(second)
    if readings:
        found = readings[-1] if fold == "second" else readings[0]
        rule = f"fold={'second' if fold == 'second' else 'first'}" if len(readings) > 1 else None
        return Once(in_range(found * 1000 + milliseconds), rule)
    span = zone.gap(second)
    assert span is not None  # a reading exists or is jumped over
    if gap == "skip":
        message = f"the clocks in {zone.name} jump over it, and gap is skip: nothing is left"
        raise InvalidSchedule("gap", message)
    found_ms = span.start * 1000 if gap == "next" else reading_ms - span.before * 1000
    return Once(in_range(found_ms), f"gap={gap}")


def _refined(keyword: str, subject: str, error: ValueError) -> InvalidSchedule:
    if isinstance(error, InvalidSchedule):
        return error
    return InvalidSchedule(keyword, f"{subject}: {error}")
