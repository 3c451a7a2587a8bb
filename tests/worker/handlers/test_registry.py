"""One handler for each type, and a failure for every other."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import cast

import pytest

from tocsin.model.runs import Run
from tocsin_worker.handlers.noop import NoopHandler
from tocsin_worker.handlers.port import Context, HandlerFailed, RunHandler, Success
from tocsin_worker.handlers.registry import Registry


class Blocking:
    """Not a handler: its `execute` is no coroutine."""

    type = "blocking"

    def execute(self, run: object, context: object) -> None:
        return None


def test_a_type_has_one_handler() -> None:
    handler = NoopHandler()
    assert Registry([handler]).handler("noop") is handler
    with pytest.raises(ValueError, match="two handlers for the type 'noop'"):
        Registry([handler, NoopHandler()])


def test_another_type_is_a_failure_that_names_what_there_is() -> None:
    with pytest.raises(HandlerFailed) as caught:
        Registry([NoopHandler()]).handler("quantum")
    error = caught.value.error
    assert (error.code, error.permanent) == ("no_handler", False)
    assert "'quantum'" in error.message
    assert "noop" in error.message


class Preparing(NoopHandler):
    """Has something to do before the first run."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self.opened = 0
        self._trouble = trouble

    async def open(self) -> None:
        self.opened += 1
        if self._trouble is not None:
            raise self._trouble


def test_handlers_prepare_themselves_once_and_trouble_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for trouble in (None, OSError("the engine is away")):
        handler = Preparing(trouble)
        asyncio.run(Registry([handler]).open())
        assert handler.opened == 1
    assert "handler noop could not prepare itself" in caplog.text


class Hanging(NoopHandler):
    """Prepares itself for ever, and does not listen."""

    def __init__(self) -> None:
        self.end = asyncio.Event()

    async def open(self) -> None:
        while not self.end.is_set():
            with suppress(asyncio.CancelledError):
                await self.end.wait()


def test_a_handler_that_never_has_done_is_not_waited_for_and_the_log_says_what_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        handler, other = Hanging(), Preparing()
        other.type = "other"
        registry = Registry([handler, other])
        opening = asyncio.ensure_future(registry.open(0.05))
        await asyncio.sleep(0.01)
        assert registry.opening == ["noop"]
        async with asyncio.timeout(10):
            await opening
        assert registry.opening == []
        assert other.opened == 1
        handler.end.set()

    asyncio.run(main())
    (line,) = (record.getMessage() for record in caplog.records)
    assert "handler noop has not prepared itself within 0.05 s" in line
    assert "open()" in line
    assert "remove the distribution" in line


class Closing:
    """A handler that does what it is given when it is closed."""

    def __init__(self, kind: str, does: Callable[[], Awaitable[None]]) -> None:
        self.type = kind
        self._does = does
        self.closed = False

    async def execute(self, run: Run, context: Context) -> Success:
        return Success()

    async def close(self) -> None:
        await self._does()
        self.closed = True


async def nothing() -> None:
    return None


async def trouble() -> None:
    raise OSError("the engine is away")


async def hang() -> None:
    await asyncio.Event().wait()


def test_a_handler_that_cannot_close_holds_up_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        handlers = [Closing("a", trouble), Closing("b", hang), Closing("c", nothing)]
        closing = asyncio.ensure_future(Registry(handlers).close())
        await asyncio.wait([closing], timeout=0.01)
        assert [handler.closed for handler in handlers] == [False, False, True]
        assert not closing.done()
        closing.cancel()
        await asyncio.wait([closing], timeout=1)
        await asyncio.sleep(0)
        assert closing.cancelled()

    asyncio.run(main())
    assert "handler a could not close" in caplog.text
    assert "handler b did not close in time" in caplog.text


def test_all_handlers_are_closed() -> None:
    handlers = [Closing("a", nothing), Closing("b", nothing)]
    asyncio.run(Registry(handlers).close())
    assert all(handler.closed for handler in handlers)


def test_what_is_no_coroutine_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="no coroutine"):
        Registry([cast("RunHandler", Blocking())])
