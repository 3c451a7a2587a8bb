"""Errors on demand: the next call of a kind fails."""

from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

from tocsin.broker.errors import BrokerError

Call = Literal[
    "init", "flush", "send_offsets", "commit", "abort", "commit_offsets", "committed",
    "begin_offsets", "end_offsets", "poll", "poll_batch", "fence",
]  # fmt: skip


class _Fault(NamedTuple):
    error: BrokerError
    applied: bool


class Faults:
    """What is going to fail; the calls are methods of the port (`commit_offsets` is
    `GroupConsumer.commit` and `commit_later`)."""

    def __init__(self) -> None:
        self._planned: defaultdict[Call, deque[_Fault]] = defaultdict(deque)

    def plan(self, call: Call, error: BrokerError, *, applied: bool = False) -> None:
        """The next such call, on any object, raises `error`: before it has any effect, or, with
        `applied`, after its full effect (an answer that was lost on the way)."""
        self._planned[call].append(_Fault(error, applied))

    def clear(self) -> None:
        """Nothing fails any more."""
        self._planned.clear()

    @contextmanager
    def during(self, call: Call) -> Iterator[None]:
        """Surrounds the effect of a call."""
        planned = self._planned[call]
        fault = planned.popleft() if planned else None
        if fault is not None and not fault.applied:
            raise fault.error
        yield
        if fault is not None:
            raise fault.error
