"""Rules that a log keeps, however its schedulers were treated."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tocsin.model.events import Event
from tocsin.model.keys import JobKey
from tocsin.model.runs import Outcome, Run

EARLIEST_MS = 1_000

ONE_AT_A_TIME = frozenset({"skip", "buffer_one", "buffer_all", "cancel_other"})
FINAL_WORDS = frozenset({"succeeded", "cancelled", "expired"})
FINAL_EVENTS = frozenset({"dead", "cancelled", "expired"})

OverlapOf = Callable[[JobKey], str]
"""The policy of a job, which never changes."""


class Emitted(NamedTuple):
    """A run, and when it was appended."""

    run: Run
    append_ms: int


class Answered(NamedTuple):
    """An outcome, and when it was appended."""

    outcome: Outcome
    append_ms: int


class Told(NamedTuple):
    """An event, and when it was appended."""

    event: Event
    append_ms: int


class History(NamedTuple):
    """All that was committed of runs, outcomes and events, in any order."""

    emitted: list[Emitted]
    outcomes: list[Answered]
    events: list[Told]


class _End(NamedTuple):
    """decided_ms: by a scheduler's clock, of an end that it decided on itself."""

    append_ms: int
    decided_ms: int | None

    def is_before(self, emitted: Emitted) -> bool:
        """What one transaction says was so at once, whichever record of it came first."""
        decided = self.decided_ms is not None and self.decided_ms <= emitted.run.emitted_time
        return decided or self.append_ms <= emitted.append_ms


def breaches(history: History, overlap_of: OverlapOf) -> Iterator[str]:
    """What is wrong, a sentence each."""
    yield from _doubled(history)
    yield from _early(history)
    yield from _overlapping(history, overlap_of)


def _doubled(history: History) -> Iterator[str]:
    """An attempt is emitted once, and once more each time that it is handed back."""
    declined = Counter(
        (outcome.run_id, outcome.attempt)
        for outcome, _ in history.outcomes
        if outcome.kind == "declined"
    )
    counted = Counter((run.run_id, run.attempt) for run, _ in history.emitted)
    for attempt, times in counted.items():
        if times > 1 + declined[attempt]:
            yield f"doubled: {attempt} {times} times, declined {declined[attempt]} times"


def _early(history: History) -> Iterator[str]:
    for run, append_ms in history.emitted:
        if append_ms < run.due_time - EARLIEST_MS and run.cause != "backfill":
            yield f"early: {run.run_id} by {run.due_time - append_ms} ms"


def _overlapping(history: History, overlap_of: OverlapOf) -> Iterator[str]:
    """Between the emission of a run and its end no other of a job that does not want that."""
    ends = _ends(history)
    lives: dict[JobKey, dict[str, int]] = defaultdict(dict)
    for emitted in sorted(history.emitted, key=lambda each: each.append_ms):
        run, append_ms = emitted
        if overlap_of(run.key) not in ONE_AT_A_TIME:
            continue
        others = lives[run.key]
        for other, since in list(others.items()):
            if other == run.run_id:
                continue
            if any(end.is_before(emitted) for end in ends[other]):
                del others[other]
            elif ends[other] and since < append_ms:
                yield f"overlap: {run.run_id} at {append_ms}, while {other} is unfinished"
        others.setdefault(run.run_id, append_ms)


def _ends(history: History) -> defaultdict[str, list[_End]]:
    """When each run was over, as the log has it."""
    found: defaultdict[str, list[_End]] = defaultdict(list)
    for outcome, append_ms in history.outcomes:
        if outcome.kind in FINAL_WORDS:
            decided = outcome.time if outcome.is_unsigned else None
            found[outcome.run_id].append(_End(append_ms, decided))
    for event, append_ms in history.events:
        if event.type in FINAL_EVENTS and event.run_id is not None:
            found[event.run_id].append(_End(append_ms, event.time))
    return found
