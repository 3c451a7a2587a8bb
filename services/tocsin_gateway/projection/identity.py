"""What a read model was built from: a cluster and its topics."""

import logging
from collections.abc import Mapping

from tocsin.broker.port import TopicInfo
from tocsin_gateway.projection import tables
from tocsin_gateway.projection.database import Database, read_meta

log = logging.getLogger(__name__)


def wipe(database: Database) -> None:
    """Drop the read model and make its tables empty."""
    with database.begin() as connection:
        tables.metadata.drop_all(connection)
        tables.metadata.create_all(connection)


def ensure_identity(database: Database, cluster_id: str, topics: Mapping[str, TopicInfo]) -> None:
    """Begin the read model anew where it was built from another log.

    A topic that was deleted and made again counts as another log.
    """
    wanted = {"cluster": cluster_id}
    wanted |= {f"topic {name}": info.topic_id for name, info in topics.items()}
    with database.read() as connection:
        found = read_meta(connection)
    if any(found.get(name, value) != value for name, value in wanted.items()):
        log.warning(
            "the read model was built from another log; building it anew",
            extra={"action": "projection_wiped"},
        )
        wipe(database)
    with database.begin() as connection:
        database.upsert(connection, tables.meta, wanted.items())
