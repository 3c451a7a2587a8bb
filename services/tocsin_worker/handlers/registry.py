"""Which handler executes which type."""

import asyncio
import logging
from collections.abc import Iterable
from inspect import iscoroutinefunction

from tocsin.model.runs import Error
from tocsin_worker.handlers.port import HandlerFailed, OpeningHandler, RunHandler

LOG = logging.getLogger(__name__)

OPEN_SECONDS = 30.0
"""How long a handler may prepare itself."""


class Registry:
    """The handlers of one worker, one for each type."""

    def __init__(self, handlers: Iterable[RunHandler]) -> None:
        """Raises `ValueError` for what is no handler, and for two of one type."""
        self._handlers: dict[str, RunHandler] = {}
        for handler in handlers:
            if handler.type in self._handlers:
                raise ValueError(f"two handlers for the type {handler.type!r}")
            if not iscoroutinefunction(handler.execute):
                raise ValueError(f"the handler {handler.type!r} has no coroutine `execute`")
            self._handlers[handler.type] = handler
        self._opening: dict[asyncio.Task[None], str] = {}

    @property
    def opening(self) -> list[str]:
        """The types whose handlers are still preparing themselves. From any thread."""
        return sorted(self._opening.copy().values())

    @property
    def types(self) -> list[str]:
        return sorted(self._handlers)

    def handler(self, kind: str) -> RunHandler:
        """Raises `HandlerFailed` with `no_handler`, which another attempt may not meet: it may
        reach a worker that has the handler."""
        try:
            return self._handlers[kind]
        except KeyError:
            known = ", ".join(self.types)
            message = f"no handler for the type {kind!r} in this worker; it has {known}"
            raise HandlerFailed(Error(code="no_handler", message=message)) from None

    async def open(self, seconds: float = OPEN_SECONDS) -> None:
        """Let all handlers prepare themselves, at the same time. What one raises is logged, and
        which has not done by then; they stay. Those that have not are cancelled then, or when this
        is, and not waited for."""
        for kind, handler in self._handlers.items():
            if isinstance(handler, OpeningHandler):
                self._opening[asyncio.ensure_future(_opened(kind, handler))] = kind
        try:
            if self._opening:
                await self._until_opened(seconds)
        finally:
            for one in self._opening:
                one.cancel()
            self._opening = {}

    async def _until_opened(self, seconds: float) -> None:
        for one in self._opening:
            one.add_done_callback(self._opening.pop)
        await asyncio.wait(self._opening, timeout=seconds)
        for kind in self.opening:
            LOG.error(
                "handler %s has not prepared itself within %g s, and runs are taken without that: "
                "its open() waits for something that does not come; mend that, give open() a "
                "time-out of its own, or remove the distribution that brings the handler",
                kind,
                seconds,
                extra={"action": "handler_not_prepared"},
            )

    async def close(self) -> None:
        """Let all handlers close, at the same time. What one raises is logged. When this is
        cancelled, those that have not closed yet are, and are not waited for."""
        closing = [asyncio.ensure_future(_closed(each)) for each in self._handlers.values()]
        try:
            if closing:
                await asyncio.wait(closing)
        finally:
            for one in closing:
                one.cancel()


async def _opened(kind: str, handler: OpeningHandler) -> None:
    try:
        await handler.open()
    except Exception:
        LOG.exception(
            "handler %s could not prepare itself", kind, extra={"action": "handler_not_prepared"}
        )


async def _closed(handler: RunHandler) -> None:
    try:
        await handler.close()
    except asyncio.CancelledError:
        LOG.warning(
            "handler %s did not close in time",
            handler.type,
            extra={"action": "handler_not_closed"},
        )
        raise
    except Exception:
        LOG.exception(
            "handler %s could not close", handler.type, extra={"action": "handler_not_closed"}
        )
