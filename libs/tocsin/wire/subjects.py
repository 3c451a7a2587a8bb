"""The schemas as a Confluent-compatible registry names them: subject, version, id.

A subject is a topic and `-value` (TopicNameStrategy). A topic with records of several shapes has
them as versions, in the order of their ids.
"""

import json
from collections.abc import Iterable
from functools import cache

from tocsin.model.jobs import PRIORITIES
from tocsin.model.values import Value
from tocsin.wire.codec import read_schema, schema_ids
from tocsin.wire.topics import DEFAULT_POOL, Topics


class RegisteredSchema(Value, frozen=True):
    """One version of a subject. text: the schema in JSON, without blanks."""

    subject: str
    version: int
    schema_id: int
    text: str


def registered_schemas(
    topics: Topics, pools: Iterable[str] = (DEFAULT_POOL,)
) -> tuple[RegisteredSchema, ...]:
    """All that an installation's topics need, in the order of subjects and versions."""
    shapes = {
        topics.access: ("access",),
        topics.audit: ("audit",),
        topics.cancels: ("cancel",),
        topics.dead: ("dead",),
        topics.events: ("event",),
        topics.jobs: ("job",),
        topics.outcomes: ("outcome",),
        topics.signals: ("signal",),
        topics.state: ("state_job", "state_run", "state_watermark"),
        topics.workers: ("worker",),
        **{topics.runs(priority, pool): ("run",) for pool in pools for priority in PRIORITIES},
    }
    return tuple(
        RegisteredSchema(
            subject=f"{topic}-value",
            version=version,
            schema_id=schema_ids()[name],
            text=_text(name),
        )
        for topic in sorted(shapes)
        for version, name in enumerate(shapes[topic], 1)
    )


@cache
def _text(name: str) -> str:
    return json.dumps(read_schema(name), separators=(",", ":"), ensure_ascii=False)
