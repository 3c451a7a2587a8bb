"""What the log says of each occurrence of one job: runs, records, and what is still open."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from heapq import merge
from itertools import groupby
from typing import NamedTuple

from tocsin.timetable import Schedule
from tocsin_cli.audit.definitions import Obligation

UNLIMITED = 1 << 62


class Kind(IntEnum):
    """run: a first attempt that was emitted. missed, passed: a record that occurrences do not
    run. open: kept in the scheduler's state, to be emitted or recorded later."""

    RUN = 0
    MISSED = 1
    PASSED = 2
    OPEN = 3


class Fact(NamedTuple):
    """Says of `number` occurrences in [nominal, last] what became of them."""

    nominal: int
    kind: Kind
    last: int
    number: int = UNLIMITED


class Account(NamedTuple):
    """One nominal time: what was due there, if anything was, and what became of it.

    runs: first attempts emitted. missed: records that say so. passed: other records of a reason.
    """

    nominal: int
    obligation: Obligation | None
    runs: int = 0
    missed: int = 0
    passed: int = 0
    open: int = 0


Meaning = Callable[[Fact], Sequence[Schedule]]
"""Which schedules' occurrences a fact about several may mean; none = nobody knows."""


class _Span:
    """A fact that reaches over several nominal times, with what is left of its number.

    Where it is known which schedule it counts, it accounts for the occurrences of that one; else
    for as many as it counts, whichever come first.
    """

    def __init__(self, fact: Fact, schedules: Sequence[Schedule]) -> None:
        self.fact = fact
        self._schedules = schedules
        self._left = fact.number

    def accounts_for(self, obligation: Obligation) -> bool:
        nominal = obligation.nominal
        if self.fact.nominal == self.fact.last:
            return self._left > 0
        if self._schedules:
            return any(each.next_ms(nominal - 1) == nominal for each in self._schedules)
        self._left -= 1
        return self._left >= 0


class _Cover:
    """The spans over the present nominal time."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning
        self._spans: list[_Span] = []

    def add(self, fact: Fact) -> None:
        schedules = self._meaning(fact) if fact.nominal < fact.last else ()
        self._spans.append(_Span(fact, schedules))

    def of(self, obligation: Obligation) -> list[Kind]:
        """The kinds of facts that account for what is due."""
        nominal = obligation.nominal
        self._spans = [span for span in self._spans if span.fact.last >= nominal]
        return [span.fact.kind for span in self._spans if span.accounts_for(obligation)]


def accounts(
    obligations: Iterable[Obligation], facts: Iterable[Fact], meaning: Meaning
) -> Iterator[Account]:
    """One account for each nominal time at which something was due or ran, in order.

    Both come in the order of nominal times; they are not held in memory.
    """
    cover = _Cover(meaning)
    both: tuple[Iterable[Obligation | Fact], ...] = (obligations, facts)
    for nominal, entries in groupby(merge(*both, key=_nominal), key=_nominal):
        runs, obligation = 0, None
        for entry in entries:
            if isinstance(entry, Obligation):
                obligation = _joined(obligation, entry)
            elif entry.kind is Kind.RUN:
                runs += 1
            else:
                cover.add(entry)
        if obligation is not None or runs:
            kinds = [] if obligation is None else cover.of(obligation)
            yield Account(
                nominal,
                obligation,
                runs,
                kinds.count(Kind.MISSED),
                kinds.count(Kind.PASSED),
                kinds.count(Kind.OPEN),
            )


def _nominal(entry: Obligation | Fact) -> int:
    return entry.nominal


def _joined(one: Obligation | None, other: Obligation) -> Obligation:
    """Two definitions with the same instant: one occurrence, of the later definition."""
    if one is None:
        return other
    return other._replace(one_off=one.one_off or other.one_off, by=max(one.by, other.by))
