"""Runs that workers have handed back before they had started them."""

from collections.abc import Iterator

from tocsin.broker.port import LogReader, Record, TopicPartition
from tocsin.broker.reading import read_to_end
from tocsin.model.keys import InvalidKey, parse_run_id
from tocsin.wire.codec import OUTCOME, WireError
from tocsin_cli.audit.refusals import Refusals

Occurrence = tuple[str, int]
"""Job key and scheduled time."""


def handed_back(
    reader: LogReader, outcomes: TopicPartition, refusals: Refusals, timeout: float
) -> Iterator[list[Occurrence]]:
    """First attempts that were `declined`, as they come in one partition; each as often as it was.
    Outcomes that cannot be read are noted in `refusals`.

    Blocks until it is read to its end; raises `BrokerError`s.
    """
    begins = reader.begin_offsets([outcomes], timeout)
    for batch in read_to_end(reader, begins, timeout=timeout):
        found = (_declined(record, refusals) for record in batch)
        yield [occurrence for occurrence in found if occurrence is not None]


def _declined(record: Record, refusals: Refusals) -> Occurrence | None:
    """If that is what the outcome says, and of a run that the schedule asks for."""
    try:
        outcome = OUTCOME.decode(record.value or b"")
        if outcome.kind != "declined" or outcome.attempt != 1:
            return None
        name = parse_run_id(outcome.run_id)
    except (WireError, InvalidKey) as error:
        refusals.note(record, error)
        return None
    return None if name.suffix else (str(name.key), name.scheduled_time)
