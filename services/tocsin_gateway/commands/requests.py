"""Requests that may be sent several times under one idempotency key.

The key rides on the command. The first command in the log that takes effect counts for a day, in
every gateway; who sends the request again is answered from it. While this gateway carries the
request out, it refuses to begin again.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.concurrency import run_in_threadpool

from tocsin.model.keys import JobKey
from tocsin.wire.headers import Idempotency
from tocsin_gateway.commands.errors import InFlight, KeyReused
from tocsin_gateway.projection.projector import Clock
from tocsin_gateway.projection.request_reads import RequestReads
from tocsin_gateway.projection.request_rows import StoredRequest


class Requests:
    """What this gateway is doing, and what the log says was done. For the event loop."""

    def __init__(self, reads: RequestReads, clock: Clock) -> None:
        self._reads = reads
        self._clock = clock
        self._under_way: set[tuple[str, str]] = set()

    @contextmanager
    def begun(self, tenant: str, request: Idempotency | None) -> Iterator[None]:
        """Raises `InFlight` where the request is being carried out already."""
        if request is None:
            yield
            return
        name = (tenant, request.key)
        if name in self._under_way:
            raise InFlight("the request with this Idempotency-Key is being carried out; ask again")
        self._under_way.add(name)
        try:
            yield
        finally:
            self._under_way.discard(name)

    async def first(self, key: JobKey, request: Idempotency | None) -> StoredRequest | None:
        """The command that carried the request out, as far as the read model goes. Raises
        `KeyReused` where the key stands for another request."""
        if request is None:
            return None
        found = await run_in_threadpool(
            self._reads.of_key, key.tenant, request.key, self._clock.now_ms()
        )
        if any(each.digest != request.digest for each in found):
            raise KeyReused("this Idempotency-Key was used for another request; take a new one")
        return next((each for each in found if each.job_id == key.job_id), None)

    async def earlier(
        self, key: JobKey, request: Idempotency | None, offset: int | None
    ) -> StoredRequest | None:
        """As `first`, where that is another command than the one at this offset."""
        first = await self.first(key, request)
        if first is None or first.record_offset == offset:
            return None
        return first
