"""Taking over partitions: fence who had them, then read what was committed for good."""

from collections.abc import Collection

from tocsin.broker.port import Cluster, Committed, Isolation, LogReader, TopicPartition
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.place import instant_of
from tocsin_scheduler.shell.estate import Estate, Stretch
from tocsin_scheduler.shell.metadata import parse_mark

ATTEMPT_S = 10.0
"""How long each request may take. One that takes longer is repeated: a transaction that nobody is
named for has to end by the brokers' time-out first."""


class Takeover:
    """The procedure, for some partitions at once. May run on any thread; blocks for seconds."""

    def __init__(self, cluster: Cluster, topics: Topics) -> None:
        self._cluster = cluster
        self._topics = topics

    def run(
        self, partitions: Collection[int], harmless: Collection[str], now: int, memory_ms: int
    ) -> dict[int, Estate]:
        """The estates of the partitions. harmless: transactional ids that need no fencing.
        memory_ms: outcomes are recent for that long; before `now` only where the last owner has
        left no watermark, since this machine's clock may be wrong.

        Raises BrokerErrors; it can be run again.
        """
        jobs = [TopicPartition(self._topics.jobs, p) for p in partitions]
        group = self._topics.scheduler_group
        hasty = self._cluster.log_reader(group, isolation=Isolation.UNCOMMITTED)
        patient = self._cluster.log_reader(group)
        try:
            self._fence_owners(hasty.committed(jobs, ATTEMPT_S), harmless)
            return self._estates(partitions, patient, hasty, now, memory_ms)
        finally:
            hasty.close()
            patient.close()

    def _fence_owners(
        self, found: dict[TopicPartition, Committed], harmless: Collection[str]
    ) -> None:
        """Once each; their open transactions are aborted and they never write again."""
        marks = (parse_mark(committed.metadata) for committed in found.values())
        owners = {mark.owner for mark in marks if mark is not None and mark.owner is not None}
        for owner in sorted(owners.difference(harmless)):
            self._cluster.fence(owner, ATTEMPT_S)

    def _estates(
        self,
        partitions: Collection[int],
        patient: LogReader,
        hasty: LogReader,
        now: int,
        memory_ms: int,
    ) -> dict[int, Estate]:
        topics = self._topics

        def left_off(p: int) -> int:
            """When the last owner did, by its watermark; now, where it has left none."""
            mark = parse_mark(committed[TopicPartition(topics.jobs, p)].metadata)
            return now if mark is None else instant_of(mark.place)

        sources = [topics.jobs, topics.signals, topics.outcomes]
        read = [TopicPartition(t, p) for t in sources for p in partitions]
        logs = [*read, *(TopicPartition(topics.state, p) for p in partitions)]
        committed = patient.committed(read, ATTEMPT_S)
        ends = hasty.end_offsets(logs, ATTEMPT_S)
        begins = hasty.begin_offsets(logs, ATTEMPT_S)
        recent = hasty.offsets_since(
            {
                TopicPartition(topics.outcomes, p): max(left_off(p) - memory_ms, 0)
                for p in partitions
            },
            ATTEMPT_S,
        )

        def stretch(topic: str, p: int) -> Stretch:
            place = TopicPartition(topic, p)
            return Stretch(begins[place], ends[place])

        return {
            p: Estate(
                jobs=committed[TopicPartition(topics.jobs, p)],
                signals=committed[TopicPartition(topics.signals, p)],
                outcomes=committed[TopicPartition(topics.outcomes, p)],
                jobs_log=stretch(topics.jobs, p),
                signals_log=stretch(topics.signals, p),
                outcomes_log=stretch(topics.outcomes, p),
                state_log=stretch(topics.state, p),
                recent=recent[TopicPartition(topics.outcomes, p)],
            )
            for p in partitions
        }
