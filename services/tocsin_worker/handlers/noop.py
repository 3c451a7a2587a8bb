"""The handler that does nothing, always with success."""

from tocsin.model.runs import Run
from tocsin_worker.handlers.port import Context, Success

_DONE = Success()


class NoopHandler:
    """For trying out schedules, and for measuring everything around a handler."""

    type = "noop"

    async def execute(self, run: Run, context: Context) -> Success:
        return _DONE

    async def close(self) -> None:
        return None
