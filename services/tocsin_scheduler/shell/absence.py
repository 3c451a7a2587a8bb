"""Whether this process may have got into its own way in the group.

A member that has not taken part for long is put out, and asks anew for its place as soon as it can;
what the client had sent before may be on its way still. A static member that meets itself like this
is told what it is told when another process has come with its instance id (`FENCED_INSTANCE_ID`),
and the brokers tell nobody which it was.

So this is believed of whoever has just been away, and it joins again. If there is another process
after all, that one is told the same by this, and has been there all the time: it ends.
"""

from tocsin_scheduler.shell.broker_clock import Clock

AWAY_MS = 5_000
"""Almost a session, the least after which a member is put out."""
LATE_MS = 60_000
"""How long after it is back a process may meet what it had sent before."""


class Absence:
    """Told whenever the process takes part in the group."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: int | None = None
        self._back_at: int | None = None

    def joins(self) -> None:
        """As a new member, which takes as long as it takes."""
        self._last = None

    def takes_part(self) -> None:
        """It polls, or is about to."""
        now = self._clock.monotonic_ms()
        if self._last is not None and now - self._last >= AWAY_MS:
            self._back_at = now
        self._last = now

    def excuses(self) -> bool:
        """Whether it was away lately; each absence excuses once."""
        self.takes_part()
        back_at, self._back_at = self._back_at, None
        return back_at is not None and self._clock.monotonic_ms() - back_at <= LATE_MS
