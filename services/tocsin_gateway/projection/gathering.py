"""Reads that several requests ask for at about the same time, made as one.

What wakes requests wakes many at once: a batch of the log has been written. Then one transaction on
one thread answers them all.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

_BREATH_S = 0.005

K = TypeVar("K")
V = TypeVar("V")


class Gathered(Generic[K, V]):
    """One kind of read. For the event loop.

    What is asked for while a read is under way, or a moment after it, waits for the next one, so
    that each answer was read after its question.
    """

    def __init__(self, read: Callable[[Sequence[K]], Mapping[K, V]]) -> None:
        """read: blocks, and is called on a thread, once at a time; what it leaves out is None."""
        self._read = read
        self._asked: list[tuple[K, asyncio.Future[V | None]]] = []
        self._reading: asyncio.Task[None] | None = None

    async def get(self, key: K) -> V | None:
        """What the read says of the key; raises what the read raises."""
        future: asyncio.Future[V | None] = asyncio.get_running_loop().create_future()
        self._asked.append((key, future))
        if self._reading is None:
            self._reading = asyncio.create_task(self._answer_all())
        return await future

    async def _answer_all(self) -> None:
        try:
            while self._asked:
                asked, self._asked = self._asked, []
                await self._answer(asked)
                await asyncio.sleep(_BREATH_S)
        finally:
            self._reading = None

    async def _answer(self, asked: Sequence[tuple[K, "asyncio.Future[V | None]"]]) -> None:
        keys = list(dict.fromkeys(key for key, _ in asked))
        try:
            found = await asyncio.get_running_loop().run_in_executor(None, self._read, keys)
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
            for _, future in asked:
                if not future.done():
                    future.set_exception(error)
            return
        for key, future in asked:
            if not future.done():
                future.set_result(found.get(key))
