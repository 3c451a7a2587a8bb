"""Which handler executes which type."""

import asyncio
import logging
from collections.abc import Iterable
from inspect import iscoroutinefunction

from tocsin.model.runs import Error
from tocsin_worker.handlers.port import HandlerFailed, OpeningHandler, RunHandler

LOG = logging.getLogger(__name__)


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

    async def open(self) -> None:
        """Let the handlers prepare themselves; one that fails in it is logged and stays."""
        for handler in self._handlers.values():
            if isinstance(handler, OpeningHandler):
                try:
                    await handler.open()
                except Exception:
                    LOG.exception(
                        "handler %s could not prepare itself",
                        handler.type,
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
