"""What happens as server-sent events (WHATWG HTML §9.2): text, waiting, and an end."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from starlette.concurrency import run_in_threadpool

from tocsin.broker.errors import BrokerError
from tocsin.model.events import Event
from tocsin.model.strict_json import dumps
from tocsin_gateway.api.documents import event_document, outcome_document
from tocsin_gateway.commands.waiting import settled
from tocsin_gateway.projection.event_feed import EventFeed, EventFilter, Place, Told, write_place
from tocsin_gateway.projection.projector import Clock

log = logging.getLogger(__name__)

HEARTBEAT_MS = 15_000
MEDIA_TYPE = "text/event-stream"

_LOOK_S = 1.0
_RETRY = b"retry: 2000\n"
"""Milliseconds until a browser connects again."""


class Streams:
    """Those that are open. `closing`: they end soon, so that the gateway can."""

    def __init__(self) -> None:
        self.closing = False
        self.count = 0

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Counts one while it is open."""
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1


async def stream(
    feed: EventFeed, streams: Streams, clock: Clock, wanted: EventFilter, place: Place
) -> AsyncIterator[bytes]:
    """What happens from `place` on, until the reader has gone or the gateway stops."""
    with streams.opened():
        yield _RETRY + _silence(place)
        told_at = clock.monotonic_ms()
        while not streams.closing:
            moved = feed.moved()
            try:
                batch = await run_in_threadpool(feed.after, place, wanted)
            except BrokerError as error:
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
