"""Requests with an idempotency key: which command in the log carried each out.

The first one that took effect counts, for a day by log timestamps. A command whose condition did
not hold took none: whoever sent it decides anew. The key counts for one tenant; commands for the
same job stand in one partition, so that all readers agree on their order.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec
from sqlalchemy import Connection, and_, or_, select

from tocsin.model.fold import Held, Judgement
from tocsin.model.values import Value
from tocsin.wire.codec import JOB
from tocsin.wire.headers import Idempotency
from tocsin_gateway.projection.database import Database, chunks
from tocsin_gateway.projection.facts import JobFact, SignalFact
from tocsin_gateway.projection.tables import requests

KEPT_MS = 86_400_000

_Key: TypeAlias = tuple[str, str, str]


class StoredRequest(Value, frozen=True):
    """A row of `requests`: where the command stands, and what was held of the job after it."""

    tenant: str
    idempotency_key: str
    job_id: str
    partition: int
    record_offset: int
    record_time: int
    digest: str
    revision: int | None = None
    updated_time: int | None = None
    created_revision: int | None = None
    created_time: int | None = None
    definition: bytes | None = None

    @property
    def held(self) -> Held:
        """What was held of the job; raises ValueError for the request of a signal."""
        if (
            self.revision is None
            or self.updated_time is None
            or self.created_revision is None
            or self.created_time is None
        ):
            raise ValueError("a signal changes no definition")
        return Held(
            revision=self.revision,
            timestamp=self.updated_time,
            job=None if self.definition is None else JOB.decode(self.definition),
            created_revision=self.created_revision,
            created_time=self.created_time,
        )


def requests_of_jobs(
    facts: Sequence[JobFact], judgements: Sequence[Judgement]
) -> list[StoredRequest]:
    """Those that these commands carried out."""
    return [
        _request_of_job(fact, fact.request, judgement.held)
        for fact, judgement in zip(facts, judgements, strict=True)
        if fact.request is not None
        and judgement.verdict in ("accepted", "unchanged")
        and judgement.held is not None
    ]


def requests_of_signals(facts: Iterable[SignalFact]) -> list[StoredRequest]:
    """Those that these signals carried out."""
    return [
        StoredRequest(
            tenant=fact.key.tenant,
            idempotency_key=fact.request.key,
            job_id=fact.key.job_id,
            partition=fact.partition,
            record_offset=fact.offset,
            record_time=fact.time,
            digest=fact.request.digest,
        )
        for fact in facts
        if fact.request is not None
    ]


def store_requests(
    database: Database, connection: Connection, found: Sequence[StoredRequest]
) -> None:
    """Keep those, in the order of the log, that are the first of their key within a day."""
    if not found:
        return
    known = _load(connection, {_key(request) for request in found})
    changed: dict[_Key, StoredRequest] = {}
    for request in found:
        before = known.get(_key(request))
        if before is None or request.record_time - before.record_time >= KEPT_MS:
            known[_key(request)] = changed[_key(request)] = request
    database.upsert(connection, requests, map(msgspec.structs.astuple, changed.values()))


def _load(connection: Connection, keys: set[_Key]) -> dict[_Key, StoredRequest]:
    found = {}
    for some in chunks(keys, 100):
        matches = or_(
            *(
                and_(
                    requests.c.tenant == tenant,
                    requests.c.idempotency_key == key,
                    requests.c.job_id == job_id,
                )
                for tenant, key, job_id in some
            )
        )
        for row in connection.execute(select(requests).where(matches)).mappings():
            request = StoredRequest(**row)
            found[_key(request)] = request
    return found


def _key(request: StoredRequest) -> _Key:
    return request.tenant, request.idempotency_key, request.job_id


def _request_of_job(fact: JobFact, request: Idempotency, held: Held) -> StoredRequest:
    return StoredRequest(
        tenant=fact.key.tenant,
        idempotency_key=request.key,
        job_id=fact.key.job_id,
        partition=fact.partition,
        record_offset=fact.record.offset,
        record_time=fact.record.timestamp,
        digest=request.digest,
        revision=held.revision,
        updated_time=held.timestamp,
        created_revision=held.created_revision,
        created_time=held.created_time,
        definition=None if held.job is None else JOB.encode(held.job),
    )
