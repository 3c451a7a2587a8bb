"""Which attempts have been cancelled."""

from tocsin.model.runs import Cancel

RETENTION_MS = 8 * 86_400_000
"""Longer than a run can wait in its topic."""


class CancelBook:
    """Remembers cancels, for runs that are still to be read.

    A cancel means all attempts of a run up to the one it names, at all workers or at one. That to
    all is for ever. That to one answers what this worker has said of an attempt, so it is not for
    runs to come: the same attempt may be emitted once more, and be read here.
    """

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._attempts: dict[str, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._attempts)

    def concerns(self, cancel: Cancel) -> bool:
        """Whether it is meant for this worker."""
        return cancel.worker is None or cancel.worker == self._worker

    def add(self, cancel: Cancel, timestamp: int) -> None:
        """`timestamp`: when it was appended. Only one for all workers is remembered."""
        if cancel.worker is None:
            attempt, seen = self._attempts.get(cancel.run_id, (0, 0))
            highest, latest = max(attempt, cancel.attempt), max(seen, timestamp)
            self._attempts[cancel.run_id] = (highest, latest)

    def covers(self, run_id: str, attempt: int) -> bool:
        """Whether this attempt has been cancelled."""
        known = self._attempts.get(run_id)
        return known is not None and attempt <= known[0]

    def forget(self, now_ms: int) -> None:
        """Drop what is older than any run that could still be read."""
        before = now_ms - RETENTION_MS
        self._attempts = {k: v for k, v in self._attempts.items() if v[1] >= before}
