"""One handler for each type, and a failure for every other."""

import asyncio
from typing import cast

import pytest

from tocsin_worker.handlers.noop import NoopHandler
from tocsin_worker.handlers.port import HandlerFailed, RunHandler
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


def test_what_is_no_coroutine_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="no coroutine"):
        Registry([cast("RunHandler", Blocking())])
