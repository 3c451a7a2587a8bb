"""What a job's accepted definitions oblige the scheduler to account for.

A definition is in force from its anchor, the log timestamp of its record, to the anchor of the
next one; within it lie the occurrences that somebody has to account for. A one-off is the
exception: accepted after its `at` it still has to be dealt with, once.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import merge
from itertools import islice, takewhile
from typing import NamedTuple

from tocsin.model.events import Event
from tocsin.model.strict_json import loads
from tocsin.timetable import Schedule, due_ms, jitter_offset_ms, parse_schedule, schedule_of


class Definition(NamedTuple):
    """`schedule` None = deleted. `applied`: when the scheduler acted on it, later than `anchor`.

    Instants are epoch milliseconds; `offset_ms` is the job's jitter.
    """

    revision: int
    anchor: int
    applied: int
    schedule: Schedule | None
    active: bool
    offset_ms: int = 0
    max_runs: int | None = None

    @property
    def at(self) -> int | None:
        """The instant of a one-off, else None."""
        return None if self.schedule is None else self.schedule.at_ms


class Obligation(NamedTuple):
    """An occurrence that has to be accounted once it is due. `by`: index of its definition."""

    nominal: int
    due: int
    one_off: bool
    by: int


def definition_of(event: Event) -> Definition:
    """What an `accepted` event says. Raises ValueError where it does not say enough."""
    if event.anchor is None or event.revision is None:
        raise ValueError("an accepted event needs revision and anchor")
    return Definition(
        revision=event.revision,
        anchor=event.anchor,
        applied=max(event.time, event.anchor),
        schedule=None if event.schedule is None else _schedule(event.schedule),
        active=event.status == "active",
        offset_ms=jitter_offset_ms(str(event.key), event.jitter_ms or 0),
        max_runs=event.max_runs,
    )


@lru_cache(maxsize=4096)
def _schedule(text: str) -> Schedule:
    document = loads(text.encode())
    if not isinstance(document, dict):
        raise ValueError(f"{text[:40]!r} is no schedule")
    return schedule_of(parse_schedule(document).fields)


def obligations(definitions: Sequence[Definition], until: int) -> Iterator[Obligation]:
    """What is due before `until`, in the order of nominal times.

    An instant may come twice, from two definitions: that is one occurrence.
    """
    courses = (_owed_by(definitions, index, until) for index in range(len(definitions)))
    return (each for each in merge(*courses) if each.due < until)


def founded(definitions: Sequence[Definition], nominal: int) -> bool:
    """Whether a run at `nominal` may exist: a definition has it, and was in force in the eyes of
    the scheduler, which may learn of the next one a little late."""
    return any(_has(definitions, index, nominal) for index in range(len(definitions)))


def counted_by(
    definitions: Sequence[Definition], first: int, last: int, number: int | None
) -> list[Schedule]:
    """The recurring schedules that have occurrences at `first` and `last`, and `number` from
    the one to the other; None = however many."""
    schedules = {
        each.schedule for each in definitions if each.schedule is not None and each.at is None
    }
    return [each for each in schedules if _counts(each, first, last, number)]


def _counts(schedule: Schedule, first: int, last: int, number: int | None) -> bool:
    if any(schedule.next_ms(end - 1) != end for end in (first, last)):
        return False
    if number is None:
        return True
    inside = takewhile(lambda nominal: nominal <= last, schedule.occurrences_ms(first - 1))
    return sum(1 for _ in islice(inside, number + 1)) == number


def _has(definitions: Sequence[Definition], index: int, nominal: int) -> bool:
    definition, following = definitions[index], _following(definitions, index)
    if definition.schedule is None:
        return False
    if definition.at is not None:
        return definition.at == nominal
    in_force = following is None or nominal <= following.applied
    later = definition.anchor < nominal
    return later and in_force and definition.schedule.next_ms(nominal - 1) == nominal


def _owed_by(definitions: Sequence[Definition], index: int, until: int) -> Iterator[Obligation]:
    definition, following = definitions[index], _following(definitions, index)
    if definition.schedule is None:
        return
    if definition.at is not None:
        at = definition.at
        if _is_owed_once(definition, following, at):
            yield Obligation(at, max(at + definition.offset_ms, definition.anchor), True, index)
    elif definition.active:
        end = until if following is None else min(until, following.anchor + 1)
        for nominal in definition.schedule.occurrences_ms(definition.anchor):
            if nominal >= end:
                return
            yield Obligation(nominal, _due(definition, nominal), False, index)


def _due(definition: Definition, nominal: int) -> int:
    if not definition.offset_ms or definition.schedule is None:
        return nominal
    return due_ms(nominal, definition.schedule.next_ms(nominal), definition.offset_ms)


def _is_owed_once(definition: Definition, following: Definition | None, at: int) -> bool:
    """While it is paused a one-off may wait for the resume; one that is dropped is recorded."""
    if definition.active:
        return at <= definition.anchor or following is None or at <= following.anchor
    return following is not None and following.at != at and at <= following.anchor


def _following(definitions: Sequence[Definition], index: int) -> Definition | None:
    return definitions[index + 1] if index + 1 < len(definitions) else None
