"""The lease by which a worker holds a long run."""

from collections.abc import Callable
from dataclasses import dataclass

from tocsin.model.runs import OutcomeKind
from tocsin_worker.timers import Timer, Timers
from tocsin_worker.writer import Heard

Say = Callable[[OutcomeKind, Heard], None]
"""Write an outcome of this kind; the callback runs once it is in the log."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """`claim_after_ms`: how long a run may take without being claimed."""

    lease_ms: int = 60_000
    claim_after_ms: int = 1_000

    @property
    def heartbeat_ms(self) -> int:
        return self.lease_ms // 3

    @property
    def usable_ms(self) -> int:
        """How long a lease is relied upon: a sixth is kept for ending the work."""
        return self.lease_ms - self.lease_ms // 6


class Lease:
    """One claim: `started`, then heartbeats while they are heard.

        unclaimed ──claim()──► claimed ──started heard──► held ──too long unheard──► lost
                └──────────────────┴───────── release() ───┴──► released

    The scheduler counts a lease from the moment its last record was appended. The worker counts
    from the moment at which it wrote the last record that it knows to be in the log, which is
    earlier, on a clock that never steps: so a process that was frozen between append and report
    cannot take an old lease for a fresh one.
    """

    def __init__(
        self,
        terms: LeaseTerms,
        timers: Timers,
        say: Say,
        held: Callable[[], None],
        lost: Callable[[], None],
    ) -> None:
        """`held` and `lost` are called at most once each."""
        self._terms = terms
        self._timers = timers
        self._say = say
        self._on_held = held
        self._on_lost = lost
        self._claimed = False
        self._released = False
        self._usable_until: int | None = None
        self._heartbeat: Timer | None = None
        self._deadline: Timer | None = None

    @property
    def held(self) -> bool:
        """Whether the claim has been heard."""
        return self._usable_until is not None

    def claim(self) -> None:
        """Ask for the lease; a second call is the same as one."""
        if self._claimed or self._released:
            return
        self._claimed = True
        self._write("started")

    def release(self) -> None:
        """No more heartbeats: the work has ended, or never began."""
        self._released = True
        for timer in (self._heartbeat, self._deadline):
            if timer is not None:
                timer.cancel()

    def _write(self, kind: OutcomeKind) -> None:
        written = self._timers.monotonic_ms()
        self._say(kind, lambda: self._heard(written))

    def _heard(self, written: int) -> None:
        first = not self.held
        self._usable_until = max(written + self._terms.usable_ms, self._usable_until or 0)
        if first:
            self._on_held()
        if not self._released:
            self._watch()
            if first:
                self._schedule_heartbeat()

    def _watch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self._timers.after(self._left_ms(), self._check)

    def _schedule_heartbeat(self) -> None:
        self._heartbeat = self._timers.after(self._terms.heartbeat_ms, self._beat)

    def _beat(self) -> None:
        if self._left_ms() > 0:
            self._write("heartbeat")
            self._schedule_heartbeat()

    def _check(self) -> None:
        if self._left_ms() > 0:
            self._watch()
        else:
            self.release()
            self._on_lost()

    def _left_ms(self) -> int:
        return (self._usable_until or 0) - self._timers.monotonic_ms()
