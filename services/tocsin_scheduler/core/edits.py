"""From one accepted definition to the next, so that no occurrence is lost and none runs twice.

An edit, a pause, a resume and a delete act from t, the log timestamp of their record; W is the
watermark, A the scheduled time up to which the job is settled (W − 1 d where `state` holds none).

1. The old definition's occurrences scheduled up to t and not accounted are emitted, or recorded,
   by its catch-up if they are due by now; else they wait whole in `state` (a delete drops them).
2. B = max(t, the instant of W, any A that `state` holds).
3. The new one's in (max(t, A), B] with which the old one has not dealt are handled as in 1; those
   in (t, A] are in a counted `skipped` event.
4. A := B, and the new definition's course goes on after it.
"""

from itertools import pairwise
from typing import NamedTuple

import msgspec

from tocsin.model.fold import Held
from tocsin.model.jobs import Job
from tocsin.model.keys import run_id
from tocsin_scheduler.core.backlog import Backlogs
from tocsin_scheduler.core.book import NO_STATE, Book
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.due import Course, Due, course_of
from tocsin_scheduler.core.emission import Emission, whole_run
from tocsin_scheduler.core.endings import Endings
from tocsin_scheduler.core.firing import Firing, firing_of
from tocsin_scheduler.core.occurrences import Occurrences
from tocsin_scheduler.core.one_offs import Before, OneOff, OneOffs, one_off
from tocsin_scheduler.core.place import instant_of
from tocsin_scheduler.core.stopping import Stopping
from tocsin_scheduler.core.turn import Turn


class Side(NamedTuple):
    """A definition on one side of an edit, with its course."""

    held: Held
    job: Job
    course: Course

    @property
    def recurs(self) -> bool:
        return self.job.schedule.at is None and self.job.status == "active"

    @property
    def is_one_off(self) -> bool:
        return self.job.schedule.at is not None

    @property
    def once(self) -> OneOff:
        return one_off(self.held, self.job, self.course)


def side_of(held: Held | None) -> Side | None:
    """None where there is no definition."""
    if held is None or held.job is None:
        return None
    return Side(held, held.job, course_of(held.job))


class Edits:
    """Closes the old definition and begins the new one."""

    def __init__(
        self,
        book: Book,
        emission: Emission,
        occurrences: Occurrences,
        backlogs: Backlogs,
        one_offs: OneOffs,
        stopping: Stopping,
        endings: Endings,
        config: CoreConfig,
    ) -> None:
        self._book = book
        self._emission = emission
        self._occurrences = occurrences
        self._backlogs = backlogs
        self._one_offs = one_offs
        self._stopping = stopping
        self._endings = endings
        self._longest_jitter_ms = config.longest_jitter_ms

    def change(
        self,
        turn: Turn,
        key: bytes,
        before: Held | None,
        after: Held,
        value: bytes | None = None,
    ) -> None:
        """`after` was accepted, at its log timestamp, where `before` was held.

        value: the bytes of the definition, where they are at hand.
        """
        old, new, t = side_of(before), side_of(after), after.timestamp
        was_known = old is not None or self._book.job_state(key).settled is not None
        self.leave(turn.place, key)
        if old is not None and old.is_one_off:
            at = new.course.schedule.at_ms if new is not None else None
            self._one_offs.close(turn, key, old.once, t, at)
        elif old is not None and old.recurs:
            self._close(turn, key, old, t, deleted=new is None)
        self._book.put_held(key, after, value)
        if new is None:
            self._drop(turn, key)
        self._begin(turn, key, old, new, t, was_known=was_known)
        self._wake(turn, key, new)

    def _wake(self, turn: Turn, key: bytes, new: Side | None) -> None:
        """What was ended or held back by the definition before may go on."""
        state = self._book.job_state(key)
        if new is not None and state.completed is not None:
            state = msgspec.structs.replace(state, completed=None)
            self._book.put_job_state(key, state)
        if new is not None and state.ranges:
            self._book.put_ready(key)
        self.keep_up(turn.place, turn.now, key, new)

    def keep_up(self, place: bytes, now: int, key: bytes, side: Side | None) -> None:
        """Have the job looked at, where something about it ends by itself. While an occurrence
        is to come that is all of it: the firing loop asks for a look when none follows."""
        has_state = self._book.job_state(key) != NO_STATE
        if side is None or has_state or self._is_over(place, key, side):
            self._book.timers.put(now, key)

    def _is_over(self, place: bytes, key: bytes, side: Side) -> bool:
        return ends_by_itself(side.job) and self.upcoming(place, key, side) is None

    def reindex(self, turn: Turn, key: bytes, after: Held | None) -> None:
        """A restatement changed what is held: no occurrence comes of it, the course goes on."""
        self.leave(turn.place, key)
        self._book.put_held(key, after)
        self.enter(turn.place, key)

    def enter(self, place: bytes, key: bytes) -> None:
        """Put the first occurrence that is not accounted at `place` into the due index."""
        side = side_of(self._book.held(key))
        if side is not None:
            self.enter_side(place, key, side)

    def enter_side(self, place: bytes, key: bytes, side: Side) -> bool:
        """As `enter`, for what is held; whether there was an occurrence."""
        due = self.upcoming(place, key, side)
        if due is not None:
            self._book.put_due(due.place, due.nominal)
        return due is not None

    def leave(self, place: bytes, key: bytes) -> None:
        """Take what `enter` put at `place` out of the due index."""
        side = side_of(self._book.held(key))
        due = None if side is None else self._next_place(place, key, side)
        if due is not None:
            self._book.delete_due(due.place)
        if side is not None and self._is_used_up(key, side):
            self._leave_settled(place, key, side)

    def _leave_settled(self, place: bytes, key: bytes, side: Side) -> None:
        """Where the last of `max_runs` had waited, the job's next occurrence stood in the index
        when that run settled the job beyond it."""
        settled = self._book.job_state(key).settled or 0
        due = side.course.beyond(self._first_base(place, side.held), place)
        while due is not None and due.nominal <= settled:
            self._book.delete_due(due.place)
            due = side.course.after(due.nominal)

    def upcoming(self, place: bytes, key: bytes, side: Side) -> Due | None:
        """The first unaccounted occurrence of what is held, or None."""
        if self._is_used_up(key, side):
            return None
        return self._next_place(place, key, side)

    def _is_used_up(self, key: bytes, side: Side) -> bool:
        return side.recurs and self._occurrences.is_used_up(key, side.job.max_runs)

    def _next_place(self, place: bytes, key: bytes, side: Side) -> Due | None:
        if side.job.status != "active":
            return None
        if side.is_one_off:
            return self._one_offs.upcoming(place, key, side.once)
        return side.course.beyond(self._base(place, key, side.held), place)

    def _base(self, place: bytes, key: bytes, held: Held) -> int:
        """Occurrences up to this nominal time are accounted, or were never the definition's."""
        settled = self._book.job_state(key).settled
        if settled is None:
            return self._first_base(place, held)
        return max(held.timestamp, settled)

    def _first_base(self, place: bytes, held: Held) -> int:
        """Where no settled time is known."""
        return max(held.timestamp, instant_of(place) - self._longest_jitter_ms)

    def _close(self, turn: Turn, key: bytes, old: Side, t: int, *, deleted: bool) -> None:
        """Step 1."""
        dues = []
        due = self.upcoming(turn.place, key, old)
        while due is not None and due.nominal <= t:
            dues.append(due)
            due = old.course.after(due.nominal)
        self._handle(turn, key, old, dues, deleted=deleted)

    def _begin(
        self, turn: Turn, key: bytes, old: Side | None, new: Side | None, t: int, *, was_known: bool
    ) -> None:
        """Steps 2 to 4. A job of which nothing was known keeps no settled time, nor does a
        one-off: for them all that has a place up to the watermark is dealt with here."""
        settled = self._book.job_state(key).settled
        bound = max(t, instant_of(turn.place), settled or 0)
        sets_bound = was_known and not _only_one_offs(old, new)
        if new is not None and new.is_one_off:
            before = self._before(turn, key, old, new, bound if sets_bound else 0)
            self._one_offs.begin(turn, key, new.once, before)
        elif new is not None and new.recurs:
            self._meet(turn, key, old, new, bound, settled)
        if sets_bound:
            state = self._book.job_state(key)
            self._book.put_job_state(key, msgspec.structs.replace(state, settled=bound))
        if new is not None and new.recurs:
            self.enter_side(turn.place, key, new)

    def _before(self, turn: Turn, key: bytes, old: Side | None, new: Side, bound: int) -> Before:
        at = new.once.at
        return Before(
            recurring=old is not None and not old.is_one_off,
            same_at=old is not None and old.is_one_off and old.once.at == at,
            dealt=at > new.held.timestamp and self._dealt(turn, key, old, at),
            bound=bound,
        )

    def _meet(
        self, turn: Turn, key: bytes, old: Side | None, new: Side, bound: int, settled: int | None
    ) -> None:
        """Step 3: the new definition's occurrences up to the bound, which no index will bring up.

        Where nothing was known of the job, only those with a place up to the watermark.
        """
        t = new.held.timestamp
        if settled is not None and settled > t:
            self._skip_settled(turn, key, new, t, settled)
        decided = {entry.at for entry in self._book.job_state(key).decided}
        dues = []
        due = new.course.after(max(self._base(turn.place, key, new.held), t))
        while due is not None and due.nominal <= bound:
            known = old is not None or settled is not None
            open_here = known or due.place <= turn.place
            if (
                open_here
                and due.nominal not in decided
                and not self._dealt(turn, key, old, due.nominal)
            ):
                dues.append(due)
            due = new.course.after(due.nominal)
        self._handle(turn, key, new, dues, deleted=False)

    def _handle(
        self, turn: Turn, key: bytes, side: Side, dues: list[Due], *, deleted: bool
    ) -> None:
        """By its catch-up what is due by now; the rest waits in `state`, or is dropped."""
        if not dues:
            return
        firing = firing_of(side.job, side.held.revision)
        ripe = [due for due in dues if due.due <= turn.now]
        if ripe and self._backlogs.is_late(turn, firing, ripe[0].due):
            self._account(turn, key, side, firing, ripe)
        else:
            for due in ripe:
                self._occurrences.arrive(turn, key, firing, due.nominal, due.due, "schedule")
        for due in dues[len(ripe) :]:
            if deleted:
                reason = "the job was deleted"
                self._occurrences.pass_over(turn, key, "skipped", due.nominal, reason)
            else:
                self._hold(turn, key, side, due)

    def _account(self, turn: Turn, key: bytes, side: Side, firing: Firing, dues: list[Due]) -> None:
        """As one backlog where they follow one another, else one by one."""
        following = pairwise(dues)
        if all(side.course.schedule.next_ms(one.nominal) == two.nominal for one, two in following):
            self._backlogs.account(turn, key, firing, side.job.schedule, dues)
        else:
            for due in dues:
                self._backlogs.account_one(turn, key, firing, due)

    def _hold(self, turn: Turn, key: bytes, side: Side, due: Due) -> None:
        run = whole_run(
            side.job,
            side.held,
            name=run_id(side.job.tenant, side.job.job_id, due.nominal),
            nominal=due.nominal,
            due=due.due,
            now=turn.now,
            cause="schedule",
            tracked=True,
        )
        self._occurrences.hold(key, run, due.due)

    def _skip_settled(self, turn: Turn, key: bytes, new: Side, t: int, settled: int) -> None:
        first = due = new.course.after(t)
        count, last = 0, 0
        while due is not None and due.nominal <= settled:
            count, last = count + 1, due.nominal
            due = new.course.after(due.nominal)
        if first is not None and count:
            reason = "edit: up to here the job was settled by the definition before"
            self._emission.passed_over(turn, key, "skipped", reason, count, first.nominal, last)

    def _dealt(self, turn: Turn, key: bytes, old: Side | None, nominal: int) -> bool:
        """Whether the old definition had this occurrence and its place lies behind us; one whose
        `max_runs` are used up had none after the last run."""
        if old is None or not old.recurs or not old.course.has(nominal):
            return False
        if self._is_used_up(key, old):
            return nominal <= (self._book.job_state(key).settled or 0)
        return old.course.at(nominal).place <= turn.place

    def _drop(self, turn: Turn, key: bytes) -> None:
        """A delete drops what waits: occurrences, retries, ranges, in counted events."""
        self._stopping.drop_ranges(turn, key, "the job was deleted")
        for name, run in self._book.run_states(key):
            if run.phase in ("waiting", "retrying", "deferred"):
                self._endings.end(turn, key, name, run, "cancelled", "the job was deleted")
        state = self._book.job_state(key)
        self._book.put_job_state(
            key, msgspec.structs.replace(state, used_runs=0, failures=0, completed=None)
        )


def _only_one_offs(old: Side | None, new: Side | None) -> bool:
    """Whether neither side of an edit is recurring, so that no settled time comes of it."""
    return not any(side is not None and not side.is_one_off for side in (old, new))


def ends_by_itself(job: Job) -> bool:
    """Whether an instant may come after which the job never runs."""
    schedule = job.schedule
    ends = schedule.at or schedule.rrule or schedule.end is not None
    return bool(ends) or job.max_runs is not None
