"""What a worker measures of itself."""

from typing import Protocol

from tocsin.model.runs import OutcomeKind, Run


class Gauges(Protocol):
    """Told on the event loop as things happen."""

    def started(self, run: Run, lateness_ms: int) -> None:
        """A handler has been entered, so long after the run was due."""

    def ended(self, run: Run, kind: OutcomeKind, duration_ms: int | None) -> None:
        """An outcome is being written. `duration_ms`: of the handler; None if it never began."""

    def undecodable(self, topic: str) -> None:
        """A record was passed over."""
