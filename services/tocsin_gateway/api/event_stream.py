"""What happens as server-sent events (WHATWG HTML §9.2): text, waiting, and an end."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeAlias

from sqlalchemy.exc import SQLAlchemyError

from tocsin.broker.errors import BrokerError
from tocsin.model.events import Event
from tocsin.model.strict_json import dumps
from tocsin_gateway.api.documents import event_document, outcome_document
from tocsin_gateway.commands.waiting import settled
from tocsin_gateway.projection.event_feed import (
    EventBatch,
    EventFeed,
    EventFilter,
    Place,
    Told,
    write_place,
)
from tocsin_gateway.projection.outcome_tail import READERS
from tocsin_gateway.projection.projector import Clock

log = logging.getLogger(__name__)

HEARTBEAT_MS = 15_000
MEDIA_TYPE = "text/event-stream"

IsAdmitted: TypeAlias = Callable[[], Awaitable[bool]]
"""Whether who reads a stream may still do so."""

_READERS = 8
_LOOK_S = 1.0
_RETRY = b"retry: 2000\n"
"""Milliseconds until a browser connects again."""


class Streams:
    """Those that are open. `closing`: they end soon, so that the gateway can.

    They read on threads of their own, those that read from Kafka on others again: however many
    there are, who waits holds up no other request, and no stream that reads from memory.
    """

    def __init__(self) -> None:
        self.closing = False
        self._open = Counter[str]()
        self._near = ThreadPoolExecutor(_READERS, "streams")
        self._far = ThreadPoolExecutor(READERS, "streams-far")

    @property
    def count(self) -> int:
        """How many there are."""
        return self._open.total()

    def count_of(self, tenant: str) -> int:
        """How many of them are a tenant's."""
        return self._open[tenant]

    @contextmanager
    def opened(self, tenant: str) -> Iterator[None]:
        """Counts one while it is open."""
        self._open[tenant] += 1
        try:
            yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]

    def close(self) -> None:
        """End them, and wait for what is being read: for seconds where it comes from Kafka."""
        self.closing = True
        for pool in (self._near, self._far):
            pool.shutdown(cancel_futures=True)

    async def read(self, feed: EventFeed, place: Place, wanted: EventFilter) -> EventBatch:
        """As `EventFeed.after`, on a thread."""
        pool = self._far if feed.is_far(place, wanted) else self._near
        return await asyncio.get_running_loop().run_in_executor(pool, feed.after, place, wanted)


async def stream(
    feed: EventFeed,
    streams: Streams,
    clock: Clock,
    wanted: EventFilter,
    place: Place,
    is_admitted: IsAdmitted,
) -> AsyncIterator[bytes]:
    """What happens from `place` on, until the reader has gone or is not admitted any more, which
    is asked as often as there are signs of life, or until the gateway stops."""
    with streams.opened(wanted.tenant):
        yield _RETRY + _silence(place)
        told_at = asked_at = clock.monotonic_ms()
        while not streams.closing:
            if clock.monotonic_ms() - asked_at >= HEARTBEAT_MS:
                if not await is_admitted():
                    return
                asked_at = clock.monotonic_ms()
            moved = feed.moved()
            try:
                batch = await streams.read(feed, place, wanted)
            except (BrokerError, SQLAlchemyError) as error:
                log.warning("a stream of events ends: %s", error, extra={"action": "stream_ended"})
                return
            stands_still, place = batch.place == place, batch.place
            if batch.told:
                yield b"".join(_text(told) for told in batch.told)
            if batch.told or clock.monotonic_ms() - told_at >= HEARTBEAT_MS:
                yield _silence(place)
                told_at = clock.monotonic_ms()
            if stands_still:
                with suppress(TimeoutError):
                    await settled(moved, _LOOK_S)
            moved.cancel()


def _text(told: Told) -> bytes:
    news = told.news
    about = event_document(news) if isinstance(news, Event) else outcome_document(news)
    document = {"tenant": news.tenant, "job_id": news.job_id, **about}
    lines = (
        f"id: {write_place(told.place)}\nevent: {about['type']}\ndata: ".encode(),
        dumps(document),
        b"\n\n",
    )
    return b"".join(lines)


def _silence(place: Place) -> bytes:
    """No event, but the place: what was left out need not be looked at again."""
    return f":\nid: {write_place(place)}\n\n".encode()
