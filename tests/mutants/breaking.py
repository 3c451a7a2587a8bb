"""How each rule is broken: by replacing a method or a function of the running program."""

from collections.abc import Callable
from typing import Any

import msgspec

from tocsin.model import fold
from tocsin.model.fold import Judgement, Restates
from tocsin.wire.headers import read_condition
from tocsin_scheduler.core import definitions, due_loop, fresh_jobs, outcomes, restoration
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.edits import Edits
from tocsin_scheduler.core.endings import Endings
from tocsin_scheduler.core.firing import schedule_from
from tocsin_scheduler.core.outcomes import Outcomes
from tocsin_scheduler.core.partition import Partition
from tocsin_scheduler.core.place import end_of, instant_of
from tocsin_scheduler.core.ranges import Ranges
from tocsin_scheduler.core.upkeep import Upkeep
from tocsin_scheduler.shell.broker_clock import BrokerClock
from tocsin_scheduler.shell.commits import Commits
from tocsin_scheduler.shell.live import Live
from tocsin_scheduler.shell.restore import Restore
from tocsin_scheduler.shell.takeover import Takeover
from tocsin_scheduler.shell.transaction import Transaction

Method = Callable[..., Any]


def replace(owner: object, name: str, make: Callable[[Method], Method]) -> None:
    """Put `make(what was there)` in its place."""
    setattr(owner, name, make(getattr(owner, name)))


def fence_nobody() -> None:
    replace(Takeover, "_fence_owners", lambda _: lambda self, found, harmless: None)


def send_offsets_only_where_something_was_read() -> None:
    def make(whole: Method) -> Method:
        def offsets(self: Any) -> Any:
            lives = [*self._kept, *self._released]
            has_read = any(live.core.committing != live.accounted.offsets for live in lives)
            claims = not any(live.is_open for live in lives)
            return whole(self) if has_read or claims else {}

        return offsets

    replace(Transaction, "_offsets", make)


def post_before_commit() -> None:
    def make(run: Method) -> Method:
        def posting(self: Any, now: int, kept: Any, *rest: Any, **more: Any) -> Any:
            for live in kept:
                if live.is_open:
                    _write_ahead(live, now)
            return run(self, now, kept, *rest, **more)

        return posting

    replace(Commits, "run", make)


def _write_ahead(live: Any, now: int) -> None:
    place, offsets = live.committing
    checkpoint = {b"@checkpoint": live._checkpoint(place, offsets, now)}
    live.store.write({**live.core._parts.book.overlay.changes, **checkpoint})


def move_watermark_before_emission() -> None:
    def make(advance: Method) -> Method:
        def hasty(self: Any, turn: Any) -> Any:
            more = advance(self, turn)
            turn.place = max(turn.place, end_of(turn.now))
            return more

        return hasty

    replace(due_loop.DueLoop, "advance", make)


def round_watermark() -> None:
    def make(advance: Method) -> Method:
        def rounding(self: Any) -> Any:
            progress = advance(self)
            self.turn.place = end_of(instant_of(self.turn.place))
            return progress

        return rounding

    replace(Partition, "advance", make)


def leave_old_definitions_open() -> None:
    replace(Edits, "_close", lambda _: lambda self, *rest, **more: None)


def restate_without_through() -> None:
    def make(whole: Method) -> Method:
        def without(held: Any, record: Any) -> Restates:
            restates: Restates = whole(held, record)
            return msgspec.structs.replace(restates, through=1 << 60)

        return without

    replace(definitions, "restatement", make)
    replace(fold, "restatement", make)


def restore_jobs_to_their_end() -> None:
    def make(_: Method) -> Method:
        return lambda self, record: self._restoration.load_job(record)

    replace(Restore, "_load_job", make)


def judge_leases_by_the_workers_clock() -> None:
    def make(whole: Method) -> Method:
        def by_worker(self: Any, key: bytes, outcome: Any, append_time: int) -> Any:
            return whole(self, key, outcome, outcome.time)

        return by_worker

    replace(Outcomes, "_put_running", make)


def forget_ended_runs() -> None:
    replace(Book, "ended", lambda _: lambda self, run_id, now: False)


def keep_own_ends_to_itself() -> None:
    def make(_: Method) -> Method:
        def close(self: Any, turn: Any, key: bytes, run_id: str, state: Any, kind: Any) -> None:
            self._book.put_run_state(key, run_id, None)
            self._book.put_ended(run_id, turn.now)

        return close

    replace(Endings, "close", make)


def leave_settled_entries() -> None:
    replace(Edits, "_leave_settled", lambda _: lambda self, place, key, side: None)


def drop_settled_times_at_once() -> None:
    def make(settled: Method) -> Method:
        def at_once(self: Any, turn: Any, key: bytes) -> Any:
            state = self._book.job_state(key)
            if state.settled is not None and instant_of(turn.place) >= state.settled:
                self._book.put_job_state(key, msgspec.structs.replace(state, settled=None))
            return settled(self, turn, key)

        return at_once

    replace(Upkeep, "_settled", make)


def read_ranges_with_the_present_schedule() -> None:
    def make(emit_next: Method) -> Method:
        def by_new(self: Any, turn: Any, key: bytes, firing: Any, left: Any) -> Any:
            fields = schedule_from(firing.schedule).fields
            left = msgspec.structs.replace(left, schedule=fields, jitter_ms=firing.jitter_ms)
            return emit_next(self, turn, key, firing, left)

        return by_new

    replace(Ranges, "_emit_next", make)


def judge_conditions_when_cold() -> None:
    def make(judge: Method) -> Method:
        def strict(held: Any, record: Any, **options: Any) -> Judgement:
            if held is None and record.condition not in (None, "none") and not record.restates:
                return Judgement(held=None, verdict="conflict", restate=True, reason="nothing held")
            judgement: Judgement = judge(held, record, **options)
            return judgement

        return strict

    def make_plain(read: Method) -> Method:
        def read_unconditioned(record: Any) -> Any:
            return read(record) if read_condition(record.headers) is None else None

        return read_unconditioned

    for module in (fold, definitions, restoration):
        replace(module, "judge", make)
    for module in (fresh_jobs, restoration):
        replace(module, "read_plain", make_plain)


def hold_on_to_the_first_wall_clock() -> None:
    def make(_: Method) -> Method:
        def now(self: Any) -> int:
            self._latest = max(self._latest, self._reading())
            latest: int = self._latest
            return latest

        return now

    replace(BrokerClock, "now", make)


def forget_what_to_read_back() -> None:
    setattr(Live, "since", property(lambda self: None, lambda self, value: None))  # noqa: B010


def take_old_words_for_new() -> None:
    replace(outcomes.Outcomes, "_is_of", lambda _: lambda self, run, state: True)
