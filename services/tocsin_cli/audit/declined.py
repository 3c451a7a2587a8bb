"""How often workers have handed runs back before they had started them."""

from collections import Counter
from collections.abc import Collection

from tocsin.broker.port import LogReader, TopicPartition
from tocsin.broker.reading import read_to_end
from tocsin.model.keys import run_id
from tocsin.wire.codec import OUTCOME, WireError

Occurrence = tuple[str, int]
"""Job key and scheduled time."""


def declined_counts(
    reader: LogReader, outcomes: TopicPartition, wanted: Collection[Occurrence], timeout: float
) -> dict[Occurrence, int]:
    """`declined` outcomes of first attempts at the wanted occurrences, in one partition.

    Blocks until it is read to its end; raises `BrokerError`s.
    """
    names = {_run_id(key, at): (key, at) for key, at in wanted}
    keys = {key.encode() for key, _ in wanted}
    counts: Counter[Occurrence] = Counter()
    begins = reader.begin_offsets([outcomes], timeout)
    for batch in read_to_end(reader, begins, timeout=timeout):
        for record in batch:
            if record.key in keys:
                name = _declined(record.value)
                if name in names:
                    counts[names[name]] += 1
    return dict(counts)


def _declined(value: bytes | None) -> str | None:
    """The run id, if that is what the outcome says of a first attempt."""
    try:
        outcome = OUTCOME.decode(value or b"")
    except WireError:
        return None
    is_first = outcome.kind == "declined" and outcome.attempt == 1
    return outcome.run_id if is_first else None


def _run_id(key: str, at: int) -> str:
    tenant, _, job_id = key.partition("/")
    return run_id(tenant, job_id, at)
