"""Reading requests with an idempotency key from the read model."""

from sqlalchemy import select

from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.request_rows import KEPT_MS, StoredRequest
from tocsin_gateway.projection.tables import requests


class RequestReads:
    """Answers about requests. Every call blocks on the database; for any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_key(self, tenant: str, idempotency_key: str, now: int) -> tuple[StoredRequest, ...]:
        """What this key stands for today, the first first. Several only where gateways were given
        one key for different jobs at the same moment."""
        query = select(requests).where(
            requests.c.tenant == tenant,
            requests.c.idempotency_key == idempotency_key,
            requests.c.record_time > now - KEPT_MS,
        )
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(requests.c.record_time)).mappings().all()
        return tuple(StoredRequest(**row) for row in rows)
