"""Jobs with one instant, `at`.

A one-off sets no settled time. It is judged by whether its `at` is *decided* (run, missed or
skipped): while the definition stands, a place up to the watermark says so, unless the instant is
owed from a pause; an edit or a delete enters a decided `at` in `state`, and no definition runs an
instant that is listed there.
"""

from typing import NamedTuple

import msgspec

from tocsin.model.fold import Held
from tocsin.model.jobs import Job
from tocsin.model.keys import run_id
from tocsin.model.runs import Run
from tocsin.model.state import Decided, JobState
from tocsin_scheduler.core.backlog import Backlogs
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.due import Course, Due
from tocsin_scheduler.core.emission import whole_run
from tocsin_scheduler.core.firing import Firing, firing_of
from tocsin_scheduler.core.occurrences import Occurrences
from tocsin_scheduler.core.turn import Turn


class OneOff(NamedTuple):
    """A one-off definition with its only occurrence."""

    held: Held
    job: Job
    due: Due

    @property
    def at(self) -> int:
        return self.due.nominal

    @property
    def firing(self) -> Firing:
        return firing_of(self.job, self.held.revision)


def one_off(held: Held, job: Job, course: Course) -> OneOff:
    at = course.schedule.at_ms
    assert at is not None
    return OneOff(held, job, course.at(at))


class Before(NamedTuple):
    """What a one-off follows: a recurring definition; the same instant; a run of that instant.

    bound: up to here a recurring definition before it is settled; 0 where there is none.
    """

    recurring: bool = False
    same_at: bool = False
    dealt: bool = False
    bound: int = 0


class OneOffs:
    """Begins and closes one-off definitions."""

    def __init__(
        self,
        book: Book,
        occurrences: Occurrences,
        backlogs: Backlogs,
        config: CoreConfig,
    ) -> None:
        self._book = book
        self._occurrences = occurrences
        self._backlogs = backlogs
        self._config = config

    def upcoming(self, place: bytes, key: bytes, once: OneOff) -> Due | None:
        """Its occurrence, where it is not decided."""
        state = self._book.job_state(key)
        if once.due.place <= place or _is_decided(state, once.at):
            return None
        if state.settled is not None and once.at <= state.settled:
            return None
        return once.due

    def close(self, turn: Turn, key: bytes, old: OneOff, t: int, new_at: int | None) -> None:
        """The definition gives way, at t, to one with `new_at`, or to none or a recurring one."""
        if old.job.status == "paused":
            if new_at != old.at:
                self._drop_owed(turn, key, old.at, t)
            return
        if self.upcoming(turn.place, key, old) is None:
            self._decide(key, old.at, t)
        elif old.at <= t:
            if old.due.due <= turn.now or new_at is not None:
                self._run(turn, key, old)
            else:
                reason = "the job was deleted or replaced before its jittered instant"
                self._occurrences.pass_over(turn, key, "skipped", old.at, reason)
            self._decide(key, old.at, t)

    def begin(self, turn: Turn, key: bytes, new: OneOff, before: Before) -> None:
        """The definition was accepted, active or paused."""
        t = new.held.timestamp
        state = self._book.job_state(key)
        if before.dealt or (before.same_at and _is_decided(state, new.at)):
            return
        refusal = _refusal(state, new.at, t, before)
        if refusal:
            self._occurrences.pass_over(turn, key, "skipped", new.at, refusal)
        elif new.at <= t - new.job.catch_up.after_ms and state.owed != new.at:
            reason = "the instant lay further back than catch_up.after when the job was accepted"
            self._occurrences.pass_over(turn, key, "missed", new.at, reason)
            self._decide(key, new.at, t)
        elif new.job.status == "paused":
            self._book.put_job_state(key, msgspec.structs.replace(state, owed=new.at))
        else:
            self._start(turn, key, new, before, t)

    def _start(self, turn: Turn, key: bytes, new: OneOff, before: Before, t: int) -> None:
        state = self._book.job_state(key)
        owed = state.owed == new.at
        if state.owed is not None:
            self._book.put_job_state(key, msgspec.structs.replace(state, owed=None))
        if new.at <= t:
            due = Due(new.at, t, b"") if owed else new.due
            self._run(turn, key, new._replace(due=due))
            self._decide(key, new.at, t)
        elif new.at <= before.bound or new.due.place <= turn.place:
            self._run(turn, key, new)
        else:
            self._book.put_due(new.due.place, new.at)

    def _run(self, turn: Turn, key: bytes, once: OneOff) -> None:
        """Now, or whole from `state` where the jitter puts it off."""
        due = once.due
        if due.due > turn.now:
            self._occurrences.hold(key, self._whole(turn, once), due.due)
        elif self._backlogs.is_late(turn, once.firing, due.due):
            self._backlogs.account_one(turn, key, once.firing, due)
        else:
            firing = once.firing
            self._occurrences.arrive(turn, key, firing, due.nominal, due.due, "schedule")

    def _whole(self, turn: Turn, once: OneOff) -> Run:
        return whole_run(
            once.job,
            once.held,
            name=run_id(once.job.tenant, once.job.job_id, once.at),
            nominal=once.at,
            due=once.due.due,
            now=turn.now,
            cause="schedule",
            tracked=True,
        )

    def _drop_owed(self, turn: Turn, key: bytes, at: int, t: int) -> None:
        state = self._book.job_state(key)
        if state.owed != at:
            return
        self._book.put_job_state(key, msgspec.structs.replace(state, owed=None))
        if at <= t:
            reason = "its instant passed in a pause, then it was dropped"
            self._occurrences.pass_over(turn, key, "skipped", at, reason)
            self._decide(key, at, t)

    def _decide(self, key: bytes, at: int, t: int) -> None:
        """No definition runs this instant for a while."""
        state = self._book.job_state(key)
        if not _is_decided(state, at):
            entry = Decided(at=at, until=t + self._config.decided_ms)
            decided = [*state.decided, entry]
            self._book.put_job_state(key, msgspec.structs.replace(state, decided=decided))


def _is_decided(state: JobState, at: int) -> bool:
    return any(entry.at == at for entry in state.decided)


def _refusal(state: JobState, at: int, t: int, before: Before) -> str:
    if _is_decided(state, at):
        return "the job has dealt with this instant before"
    if state.settled is not None and at <= state.settled:
        return "edit: up to here the job was settled by the definition before"
    if before.recurring and at <= t:
        return "edit: the instant lay before the edit of a recurring job"
    return ""
