"""Calls of the client that may never return.

`rd_kafka_send_offsets_to_transaction` does not keep to its time-out while the group's coordinator
is away, and may wait for good where the coordinator comes back as another connection
(confluentinc/librdkafka issues 5456 and 5511). Such a call is made on a thread of its own, which is
left behind if need be.
"""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread

Call = Callable[[], None]

GRACE = 1.0
"""Seconds beyond its own time-out after which a call counts as hung."""


class CallHung(Exception):
    """The call has not returned; neither it nor what it was called on is to be used any more."""


class BoundedCalls:
    """One thread that makes calls for the caller; started by the first."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._ends: SimpleQueue[BaseException | None] = SimpleQueue()
        self._thread: Thread | None = None
        self.is_hung = False

    def run(self, call: Call, timeout: float) -> None:
        """Raises what the call raises, and `CallHung` after `timeout` and a grace, in seconds."""
        if self._thread is None:
            self._thread = Thread(target=self._serve, name="kafka-calls", daemon=True)
            self._thread.start()
        self._calls.put(call)
        try:
            error = self._ends.get(timeout=timeout + GRACE)
        except Empty:
            self.is_hung = True
            raise CallHung from None
        if error is not None:
            raise error

    def close(self) -> None:
        """Let the thread end."""
        self._calls.put(None)

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except BaseException as error:  # noqa: BLE001 — handed to the caller as it is
                self._ends.put(error)
            else:
                self._ends.put(None)
