"""Between an attempt on the event loop and the thread or process that works on it."""

from threading import Event

from tocsin import clock


class Link:
    """`stopped`: the attempt is to end. `silent_ms`: since the task was last heard of."""

    def __init__(self) -> None:
        self._stopped = Event()
        self._heard_at = clock.monotonic_ms()

    def stop(self) -> None:
        self._stopped.set()

    def stopped(self) -> bool:
        return self._stopped.is_set()

    def heard(self) -> None:
        self._heard_at = clock.monotonic_ms()

    @property
    def silent_ms(self) -> int:
        return clock.monotonic_ms() - self._heard_at
