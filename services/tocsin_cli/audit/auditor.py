"""The audit of a log that may be growing while it is read.

What a reader of several topics sees of them is no snapshot, so the order matters:

1. the watermarks, each with the offset of the jobs topic up to which commands are applied: what
   is claimed;
2. the state topic: what is still open;
3. events, then runs: what was open at 2 may have been run or recorded since, and what was not is
   run or recorded already.
"""

from collections.abc import Callable, Collection, Mapping

from tocsin.broker.errors import Die
from tocsin.broker.port import Cluster, TopicPartition
from tocsin.model.jobs import PRIORITIES
from tocsin.wire.topics import Topics
from tocsin_cli.audit.declined import handed_back
from tocsin_cli.audit.intake import Intake
from tocsin_cli.audit.judging import Claim
from tocsin_cli.audit.reading import REACH_S, TIMEOUT, WholeTopics
from tocsin_cli.audit.report import Finding, PartitionReport, Report
from tocsin_cli.audit.spool import Spool
from tocsin_cli.audit.tally import PartitionTally, UnreadableDefinition
from tocsin_cli.marks import Mark, committed_marks, later

SKEW_MS = 1_000
"""A record of an occurrence may be older than its scheduled time by the skew of the clocks."""

SINCE_EVER = -1


def audit(
    cluster: Cluster,
    topics: Topics,
    *,
    pools: Collection[str] | None = None,
    retention_ms: Mapping[str, int] | None = None,
    on_finding: Callable[[Finding], None] = lambda _: None,
) -> Report:
    """Read the log and judge it; `on_finding` hears of each occurrence that is lost or doubled.

    pools: whose runs to read; None = all that have topics, and fewer would make their runs seem
    lost. retention_ms: by topic, where it is less than the usual. Memory does not grow with the
    log; a temporary file does. Blocks until all is read; raises `BrokerError`s.
    """
    whole = WholeTopics(cluster, retention_ms or {})
    try:
        partitions = _partition_counts(cluster, topics, _run_topics(cluster, topics, pools))
        count = partitions[topics.events]
        with Spool(count) as spool:
            return _Auditor(cluster, topics, whole, spool, partitions, on_finding).run()
    finally:
        whole.close()


def _run_topics(cluster: Cluster, topics: Topics, pools: Collection[str] | None) -> list[str]:
    if pools is not None:
        return [topics.runs(priority, pool) for pool in pools for priority in PRIORITIES]
    front, ends = f"{topics.prefix}.runs.", tuple(f".{priority}" for priority in PRIORITIES)
    names = cluster.topic_names(REACH_S)
    return sorted(name for name in names if name.startswith(front) and name.endswith(ends))


def _partition_counts(cluster: Cluster, topics: Topics, runs: Collection[str]) -> dict[str, int]:
    """Of all topics that are read, the runs' last. Raises `Die` where one does not exist."""
    usual = [topics.jobs, topics.state, topics.events, topics.outcomes]
    wanted = [*usual, *(runs or [topics.runs(priority) for priority in PRIORITIES])]
    found = cluster.topics(wanted, REACH_S)
    for name in wanted:
        if name not in found:
            raise Die("the topic does not exist; make it with 'tocsin topics apply'").at(name)
    return {name: found[name].partitions for name in wanted}


class _Auditor:
    """One audit: reads everything into the spool, then judges partition by partition."""

    def __init__(
        self,
        cluster: Cluster,
        topics: Topics,
        whole: WholeTopics,
        spool: Spool,
        partitions: Mapping[str, int],
        on_finding: Callable[[Finding], None],
    ) -> None:
        self._cluster = cluster
        self._topics = topics
        self._whole = whole
        self._spool = spool
        self._partitions = partitions
        self._count = partitions[topics.events]
        self._runs = [name for name in partitions if name.startswith(f"{topics.prefix}.runs.")]
        self._on_finding = on_finding
        self._intake = Intake(spool, self._count)

    def run(self) -> Report:
        marks = self._read()
        reports = [self._judge(number, marks.get(number)) for number in range(self._count)]
        return Report(
            partitions=reports,
            undecodable=dict(self._intake.refusals.counts),
            lateness=self._intake.lateness.summary(),
        )

    def _read(self) -> dict[int, Mark]:
        topics, intake = self._topics, self._intake
        marks = committed_marks(self._cluster, topics, self._count, TIMEOUT)
        for record in self._whole.records(self._counts(topics.state)):
            intake.state(record)
        intake.state_has_ended()
        marks = later(marks, intake.marks)
        for record in self._whole.records(self._counts(topics.events)):
            intake.event(record)
        for record in self._whole.records(self._counts(*self._runs)):
            intake.run(record)
        if any(self._has_lost_events(number) for number in range(self._count)):
            for record in self._whole.records(self._counts(topics.jobs)):
                mark = marks.get(record.partition)
                intake.command(record, 0 if mark is None else mark.jobs)
        return marks

    def _counts(self, *names: str) -> dict[str, int]:
        return {name: self._partitions[name] for name in names}

    def _has_lost_events(self, partition: int) -> bool:
        return TopicPartition(self._topics.events, partition) in self._whole.removed

    def _complete_since(self, partition: int) -> int | None:
        """Retention acts on each partition by itself; runs of a job lie in any of theirs."""
        events = TopicPartition(self._topics.events, partition)
        since = [
            instant
            for tp, instant in self._whole.removed.items()
            if tp == events or tp.topic in self._runs
        ]
        return max(since) + SKEW_MS if since else None

    def _judge(self, partition: int, mark: Mark | None) -> PartitionReport:
        since = self._complete_since(partition)
        claim = Claim(
            since=SINCE_EVER if since is None else since,
            until=0 if mark is None else mark.instant,
            jobs=0 if mark is None else mark.jobs,
            whole=not self._has_lost_events(partition),
        )
        spool, refusals = self._spool, self._intake.refusals
        tally = PartitionTally(partition, claim, self._on_finding, spool.add_repeated)
        for job in spool.jobs(partition):
            try:
                tally.take(job)
            except UnreadableDefinition as error:
                topic = self._topics.jobs if error.is_standing else self._topics.events
                refusals.note_at(topic, partition, error.offset, error)
        if spool.has_repeated:
            outcomes = TopicPartition(self._topics.outcomes, partition)
            for occurrences in handed_back(self._whole.reader, outcomes, refusals, TIMEOUT):
                spool.add_returned(occurrences)
            tally.settle(spool.take_repeated())
        return tally.report(since, None if mark is None else mark.instant)
