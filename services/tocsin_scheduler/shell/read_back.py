"""What was committed behind a watermark that is not the last: runs, what was recorded instead of
runs, and outcomes of runs.

Where the group's offsets are lost or foreign, the pair (W, O) of the last `%watermark` holds. What
its owner has emitted since stands in the runs topics, and what it has skipped in `events`; both
count as dealt with. What workers have said since stands in `outcomes`; which runs have ended by
then has to be known before the commands and occurrences behind the pair are met again.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from tocsin.broker.port import Cluster, Isolation, Record, TopicPartition
from tocsin.model.values import Value
from tocsin.wire.codec import EVENT, OUTCOME, RUN, Codec, WireError
from tocsin.wire.partitions import partition_of
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.outcomes import LAST_WORDS
from tocsin_scheduler.core.restoration import Restoration
from tocsin_scheduler.shell.report import Refused
from tocsin_scheduler.shell.spans import Span, SpanReader

PASSED_OVER = frozenset({"skipped", "missed"})
SLACK_MS = 60_000
"""Clocks of owners may differ from the brokers' by a second; more costs little."""
REQUEST_S = 5.0
SLICE_RECORDS = 500

V = TypeVar("V", bound=Value)


class ReadBack:
    """Reads from `since` (epoch milliseconds) to the present ends, a slice at a time."""

    def __init__(
        self,
        cluster: Cluster,
        config: CoreConfig,
        restoration: Restoration,
        run_topics: Mapping[str, int],
        outcomes_from: int,
        since: int,
        now: int,
        refused: Refused,
    ) -> None:
        """Asks for offsets; raises what that raises. `refused` is told of runs and events
        that cannot be read."""
        self._config = config
        self._restoration = restoration
        self._now = now
        self._refused = refused
        self._spans = SpanReader(cluster)
        runs = [TopicPartition(t, p) for t, count in run_topics.items() for p in range(count)]
        events = TopicPartition(config.topics.events, config.partition)
        outcomes = TopicPartition(config.topics.outcomes, config.partition)
        reader = cluster.log_reader(isolation=Isolation.UNCOMMITTED)
        try:
            starts = reader.offsets_since(
                dict.fromkeys([*runs, events], since - SLACK_MS), REQUEST_S
            )
            ends = reader.end_offsets([*runs, events, outcomes], REQUEST_S)
        finally:
            reader.close()
        for place in runs:
            self._spans.add(Span(place, starts[place], ends[place], self._load_runs))
        self._spans.add(Span(events, starts[events], ends[events], self._load_events))
        self._spans.add(Span(outcomes, outcomes_from, ends[outcomes], self._load_outcomes))

    @property
    def is_done(self) -> bool:
        return not self._spans

    def step(self) -> None:
        """One slice."""
        self._spans.read(SLICE_RECORDS, 0)

    def close(self) -> None:
        self._spans.close()

    def _load_runs(self, records: list[Record]) -> None:
        for run in self._readable(RUN, records):
            key = str(run.key).encode()
            if partition_of(key, self._config.partitions) == self._config.partition:
                self._restoration.load_emitted(run.run_id, run.attempt, self._now)

    def _load_events(self, records: list[Record]) -> None:
        """Events of one occurrence, which is named by the id that its run would have."""
        for event in self._readable(EVENT, records):
            if event.type in PASSED_OVER and event.run_id is not None:
                self._restoration.load_emitted(event.run_id, 1, self._now)

    def _readable(self, kind: Codec[V], records: list[Record]) -> Iterator[V]:
        for record in records:
            try:
                value = kind.decode(record.value or b"")
            except WireError as error:
                self._refused(record, error)
            else:
                yield value

    def _load_outcomes(self, records: list[Record]) -> None:
        for record in records:
            try:
                outcome = OUTCOME.decode(record.value or b"")
            except WireError:
                continue  # it is met again, and counted then
            if outcome.kind in LAST_WORDS:
                self._restoration.load_ended(outcome.run_id, self._now)
