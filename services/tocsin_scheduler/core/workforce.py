"""What workers say of themselves, and how many runs each could take."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from tocsin.model.jobs import PRIORITIES, Priority
from tocsin.model.runs import Outcome, OutcomeKind, Worker
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.placing import Share

_ENDS: frozenset[OutcomeKind] = frozenset({"succeeded", "failed", "deferred", "cancelled"})
"""After these a slot is free."""

_NUMBER = re.compile("[0-9]{1,9}", re.ASCII)

FRESH_MS = 6_000
"""How long a report is believed: workers report every two seconds."""


@dataclass(slots=True)
class WorkerNews:
    """What outcomes tell of workers. ended: attempts that each has brought to an end. declining:
    workers that have handed runs back unstarted for want of slots."""

    ended: Counter[str] = field(default_factory=Counter)
    declining: set[str] = field(default_factory=set)

    def note(self, outcome: Outcome) -> None:
        if outcome.kind in _ENDS:
            self.ended[outcome.worker] += 1
        elif outcome.kind == "declined" and outcome.error is None:
            self.declining.add(outcome.worker)


@dataclass(slots=True)
class _Member:
    """lately: attempts that ended between the last two reports. ended: since the last one."""

    report: Worker
    heard_at: int
    lately: int
    partitions: Mapping[Priority, list[int]]
    ended: int = 0
    declines: bool = False

    @property
    def room(self) -> int:
        """Slots that are free, and those that become so: as many as lately. A worker whose slots
        are all taken by runs that do not end has none."""
        if self.declines:
            return 0
        return min(self.report.slots, self.report.free + max(self.lately, self.ended))


class Workforce:
    """The workers whose latest reports are fresh, by pool. Instants are epoch milliseconds."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._members: dict[str, _Member] = {}

    def heard(self, report: Worker, at: int) -> None:
        """A report, in place of the one before."""
        former = self._members.get(report.worker)
        lately = 0 if former is None else former.ended
        self._members[report.worker] = _Member(report, at, lately, _partitions(report))

    def gone(self, worker: str) -> None:
        """It has said that it is no more."""
        self._members.pop(worker, None)

    def learn(self, news: WorkerNews) -> bool:
        """Take in what outcomes tell; whether somebody's room has changed by it."""
        changed = False
        for worker, member in self._members.items():
            room = member.room
            member.ended += news.ended.get(worker, 0)
            member.declines = member.declines or worker in news.declining
            changed = changed or (member.room == 0) != (room == 0)
        return changed

    def forget(self, now: int) -> bool:
        """Drop reports that are too old; whether there were any."""
        old = [w for w, member in self._members.items() if now - member.heard_at >= FRESH_MS]
        for worker in old:
            del self._members[worker]
        return bool(old)

    def shares(self, run_topics: Mapping[str, int]) -> Mapping[str, list[Share]]:
        """By runs topic: who reads it and has room. A partition that two claim is the later
        report's. `run_topics`: name -> number of partitions."""
        owners: defaultdict[str, dict[int, _Member]] = defaultdict(dict)
        for member in sorted(self._members.values(), key=lambda member: member.report.time):
            for priority, numbers in member.partitions.items():
                topic = self._topics.runs(priority, member.report.pool)
                owners[topic].update(dict.fromkeys(numbers, member))
        return {topic: _shares(owners[topic], count) for topic, count in run_topics.items()}


def _partitions(report: Worker) -> dict[Priority, list[int]]:
    """By priority; what is not a place, such as `high:3`, is left out."""
    found: dict[Priority, list[int]] = {}
    for place in report.partitions:
        word, _, number = place.partition(":")
        for priority in PRIORITIES:
            if word == priority and _NUMBER.fullmatch(number):
                found.setdefault(priority, []).append(int(number))
    return found


def _shares(owners: Mapping[int, _Member], partitions: int) -> list[Share]:
    held: defaultdict[str, list[int]] = defaultdict(list)
    for number in range(partitions):
        if number in owners:
            held[owners[number].report.worker].append(number)
    rooms = {member.report.worker: member.room for member in owners.values()}
    return [Share(w, numbers, rooms[w]) for w, numbers in held.items() if rooms[w] > 0]
