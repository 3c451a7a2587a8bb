"""Jobs and triggers in Quartz' XML (job_scheduling_data 2.0).

A trigger becomes a job. What the class does is not in the file: the job is a `task` of the class's
name, for a worker that has a task of that name.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

from tocsin.timetable import format_duration
from tocsin.timetable.instants import format_instant, to_ms
from tocsin_cli.moving_in.imports import Collector, Definition, Import, UnreadableFile
from tocsin_cli.moving_in.quartz_cron import NotCarriedOver, translate

_CATCH_UP = {
    "MISFIRE_INSTRUCTION_DO_NOTHING": "skip",
    "MISFIRE_INSTRUCTION_IGNORE_MISFIRE_POLICY": "all",
    "MISFIRE_INSTRUCTION_RESCHEDULE_NEXT_WITH_EXISTING_COUNT": "skip",
    "MISFIRE_INSTRUCTION_RESCHEDULE_NEXT_WITH_REMAINING_COUNT": "skip",
}
_PRIORITY = 5


class _Element:
    """An element and its children by their names, whatever namespace they are in."""

    def __init__(self, element: ElementTree.Element) -> None:
        self._element = element
        self.name = element.tag.rpartition("}")[2]

    def text(self, name: str, default: str = "") -> str:
        child = self.child(name)
        return default if child is None else (child._element.text or "").strip()

    def child(self, name: str) -> "_Element | None":
        return next((each for each in self.children() if each.name == name), None)

    def children(self) -> Iterator["_Element"]:
        return map(_Element, self._element)

    def all(self, name: str) -> Iterator["_Element"]:
        """Those of that name, however deep."""
        return (each for each in map(_Element, self._element.iter()) if each.name == name)


class _Job(NamedTuple):
    kind: str
    description: str
    data: dict[str, str]


def import_quartz(text: str, *, timezone: str | None = None) -> Import:
    """`timezone`: the machine's, where a trigger says nothing. Raises `UnreadableFile`."""
    try:
        root = _Element(ElementTree.fromstring(text))  # noqa: S314 - the operator's own file
    except ElementTree.ParseError as error:
        raise UnreadableFile(f"not XML: {error}") from error
    jobs = {_key(each): _job(each) for each in root.all("job")}
    triggers = list(root.all("trigger"))
    if not triggers:
        raise UnreadableFile("there is no trigger in it; expected job_scheduling_data in XML")
    found = Collector("quartz")
    of_job = Counter(_job_key(kind) for trigger in triggers for kind in trigger.children())
    for trigger in triggers:
        for kind in trigger.children():
            _Trigger(kind, found, timezone).read(jobs, is_only=of_job[_job_key(kind)] == 1)
    _note_unused(found, jobs, set(of_job))
    return found.finish()


class _Trigger:
    """A `cron`, `simple` or `calendar-interval` element."""

    def __init__(self, element: _Element, found: Collector, timezone: str | None) -> None:
        self._element = element
        self._found = found
        self._where = f"trigger {element.text('name')}"
        self._zone = element.text("time-zone") or timezone or "UTC"

    def read(self, jobs: dict[tuple[str, str], _Job], *, is_only: bool) -> None:
        key = _job_key(self._element)
        job = jobs.get(key)
        if job is None:
            self._found.lose(self._where, f"the job {key[1]} is not in the file")
            return
        try:
            when, priority = self._when(), self._priority()
        except (NotCarriedOver, ValueError) as error:
            self._found.lose(self._where, str(error))
            return
        self._note_class(job)
        self._found.add(
            self._where,
            key[1] if is_only else f"{key[1]}-{self._element.text('name')}",
            {
                **when,
                "description": job.description or self._element.text("description") or None,
                "handler": {"type": "task", "name": job.kind.rpartition(".")[2]},
                "payload": {**job.data, **_data(self._element)} or None,
                "priority": priority,
                "overlap": "allow_all",
                "retry": {"max_attempts": 1},
                "catch_up": {"policy": self._catch_up()},
            },
        )

    def _when(self) -> Definition:
        match self._element.name:
            case "cron":
                return self._cron()
            case "simple":
                return self._simple()
            case other:
                raise NotCarriedOver(f"a trigger of kind {other}; write a schedule for it")

    def _cron(self) -> Definition:
        found = translate(self._element.text("cron-expression"))
        schedule: Definition = {"cron": found.expression, "timezone": self._zone}
        start, end = self._time("start-time"), self._time("end-time")
        if found.years is not None:
            zone = self._zone_info()
            first = to_ms(datetime(found.years[0], 1, 1, tzinfo=zone).astimezone(UTC))
            after = to_ms(datetime(found.years[1] + 1, 1, 1, tzinfo=zone).astimezone(UTC))
            start = first if start is None else max(first, start)
            end = after if end is None else min(after, end)
        return {"schedule": schedule | _window(start, end)}

    def _simple(self) -> Definition:
        start, end = self._time("start-time"), self._time("end-time")
        interval = int(self._element.text("repeat-interval", "0") or 0)
        count = int(self._element.text("repeat-count", "0") or 0)
        if count == 0 or interval == 0:
            if start is None:
                raise NotCarriedOver("it fires once, when the scheduler starts")
            return {"schedule": {"at": format_instant(start)}}
        if interval % 1000:
            raise NotCarriedOver(f"repeat-interval {interval} ms is not a whole number of seconds")
        every: Definition = {"every": format_duration(interval)}
        if count < 0:
            return {"schedule": every | _window(start, end)}
        if start is not None:
            after_last = start + count * interval + 1
            end = after_last if end is None else min(end, after_last)
        return {"schedule": every | _window(start, end), "max_runs": count + 1}

    def _time(self, name: str) -> int | None:
        """Without an offset it is in the trigger's time zone."""
        text = self._element.text(name)
        if not text:
            return None
        at = datetime.fromisoformat(text)
        zoned = at if at.tzinfo else at.replace(tzinfo=self._zone_info())
        return to_ms(zoned.astimezone(UTC))

    def _zone_info(self) -> ZoneInfo:
        try:
            return ZoneInfo(self._zone)
        except (KeyError, ValueError):
            raise NotCarriedOver(f"time-zone {self._zone}: no IANA zone") from None

    def _catch_up(self) -> str:
        return _CATCH_UP.get(self._element.text("misfire-instruction"), "latest")

    def _priority(self) -> str | None:
        priority = int(self._element.text("priority", str(_PRIORITY)) or _PRIORITY)
        return {1: "high", -1: "low"}.get((priority > _PRIORITY) - (priority < _PRIORITY))

    def _note_class(self, job: _Job) -> None:
        self._found.note(
            self._where,
            f"{job.kind}: whether it is @DisallowConcurrentExecution is not in the file; if it is, "
            "set overlap: skip, or buffer_one",
        )
        if self._element.text("calendar-name"):
            name = self._element.text("calendar-name")
            self._found.note(self._where, f"calendar-name {name}: days are not left out")


def _note_unused(
    found: Collector, jobs: dict[tuple[str, str], _Job], used: set[tuple[str, str]]
) -> None:
    for key in jobs.keys() - used:
        found.lose(f"job {key[1]}", "no trigger names it")


def _key(job: _Element) -> tuple[str, str]:
    return job.text("group", "DEFAULT") or "DEFAULT", job.text("name")


def _job_key(trigger: _Element) -> tuple[str, str]:
    return trigger.text("job-group", "DEFAULT") or "DEFAULT", trigger.text("job-name")


def _job(element: _Element) -> _Job:
    return _Job(element.text("job-class", "job"), element.text("description"), _data(element))


def _data(element: _Element) -> dict[str, str]:
    data = element.child("job-data-map")
    entries = () if data is None else data.children()
    return {entry.text("key"): entry.text("value") for entry in entries if entry.name == "entry"}


def _window(start: int | None, end: int | None) -> Definition:
    bounds = {"start": start, "end": end}
    return {name: format_instant(at) for name, at in bounds.items() if at is not None}
