"""Reads made as one, and waiting for other threads."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Event

import pytest

from tocsin_gateway.commands.waiting import all_settled, settled
from tocsin_gateway.projection.gathering import Gathered


def test_questions_of_one_moment_are_one_read() -> None:
    reads: list[list[str]] = []

    def read(names: Sequence[str]) -> dict[str, int]:
        reads.append(list(names))
        return {name: len(name) for name in names if name != "nobody"}

    async def ask() -> list[int | None]:
        lengths = Gathered(read)
        return await asyncio.gather(*map(lengths.get, ("a", "bcd", "a", "nobody")))

    assert asyncio.run(ask()) == [1, 3, 1, None]
    assert reads == [["a", "bcd", "nobody"]]


def test_an_answer_was_read_after_its_question() -> None:
    value, is_read, may_return = 1, Event(), Event()

    def read(names: Sequence[str]) -> dict[str, int]:
        found = dict.fromkeys(names, value)
        is_read.set()
        may_return.wait()
        return found

    async def ask() -> tuple[int | None, int | None]:
        nonlocal value
        values = Gathered(read)
        early = asyncio.create_task(values.get("a"))
        await asyncio.to_thread(is_read.wait)
        value = 2
        late = asyncio.create_task(values.get("a"))
        await asyncio.sleep(0)
        may_return.set()
        return await early, await late

    assert asyncio.run(ask()) == (1, 2)


def test_a_read_that_fails_fails_for_all_and_the_next_is_made() -> None:
    fails = True

    def read(names: Sequence[str]) -> dict[str, int]:
        if fails:
            raise OSError("no database")
        return dict.fromkeys(names, 1)

    async def ask() -> None:
        nonlocal fails
        values = Gathered(read)
        asked = await asyncio.gather(values.get("a"), values.get("b"), return_exceptions=True)
        assert [type(error) for error in asked] == [OSError, OSError]
        fails = False
        assert await values.get("a") == 1

    asyncio.run(ask())


def test_who_gives_up_leaves_the_others_their_answers() -> None:
    async def ask() -> int | None:
        values: Gathered[str, int] = Gathered(lambda names: dict.fromkeys(names, 1))
        hasty, patient = (asyncio.create_task(values.get(name)) for name in "ab")
        await asyncio.sleep(0)
        hasty.cancel()
        return await patient

    assert asyncio.run(ask()) == 1


def test_all_that_is_waited_for_is_settled_on_another_thread() -> None:
    async def wait() -> list[int]:
        futures: list[Future[int]] = [Future() for _ in range(3)]
        waiting = asyncio.create_task(all_settled(futures, 60))
        for number, future in enumerate(futures):
            await asyncio.to_thread(future.set_result, number)
        return await waiting

    assert asyncio.run(wait()) == [0, 1, 2]


def test_what_comes_too_late_may_still_come() -> None:
    async def wait() -> None:
        future: Future[int] = Future()
        with pytest.raises(TimeoutError):
            await settled(future, 0)
        future.set_result(1)
        assert await settled(future, 0.5) == 1

    asyncio.run(wait())


def test_an_error_is_raised_where_it_is_waited_for() -> None:
    async def wait() -> None:
        good: Future[int] = Future()
        bad: Future[int] = Future()
        good.set_result(1)
        bad.set_exception(OSError("no broker"))
        with pytest.raises(OSError, match="no broker"):
            await all_settled([good, bad], 60)
        assert await all_settled([], 60) == []

    asyncio.run(wait())
