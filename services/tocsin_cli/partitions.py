"""How each partition stands: by the offsets and watermarks in Kafka, and by its owner's word."""

from collections.abc import Iterable, Mapping, Sequence

import httpx
import msgspec

from tocsin.broker.port import Cluster, LogReader, TopicPartition
from tocsin.model.values import Value
from tocsin.wire.topics import Topics
from tocsin_cli.failures import NEGATIVE, CommandFailed
from tocsin_cli.marks import Mark, committed_marks

REQUEST_S = 10.0
ASK_S = 2.0
DEFAULT_SCHEDULER = "http://127.0.0.1:9101"

REFRESHED_MS = 60_000
"""A watermark is committed at least this often, also where nothing is due."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a scheduler says of a partition that it was assigned."""

    partition: int
    phase: str
    watermark_lag_ms: int | None = None
    restoring: int = 0
    jobs: int | None = None
    open_runs: int | None = None


class _Answer(msgspec.Struct, frozen=True):
    partitions: list[Told]


class PartitionStatus(Value, frozen=True, kw_only=True):
    """lag_ms: how long something is due that is not accounted, as far as can be told. backlog:
    records not applied yet; control records count, so a small number may be nothing."""

    partition: int
    owner: str | None
    phase: str | None
    lag_ms: int
    restoring: int | None
    jobs: int | None
    open_runs: int | None
    backlog: int

    def is_behind(self, allowed_ms: int) -> bool:
        return self.owner is None or self.lag_ms > allowed_ms


def ask_schedulers(urls: Sequence[str] | None, default: str = DEFAULT_SCHEDULER) -> dict[int, Told]:
    """What the schedulers say, by partition; without `urls` the one at `default`, which need not
    answer."""
    told: dict[int, Told] = {}
    for url in urls or [default]:
        try:
            answer = httpx.get(f"{url}/status", timeout=ASK_S)
            partitions = msgspec.json.decode(answer.content, type=_Answer).partitions
        except (httpx.HTTPError, msgspec.MsgspecError) as error:
            if urls:
                reason = f"{url} does not answer as a scheduler: {error}"
                raise CommandFailed(reason, NEGATIVE) from None
            continue
        told |= {each.partition: each for each in partitions}
    return told


def partition_statuses(
    cluster: Cluster, topics: Topics, now: int, told: Mapping[int, Told]
) -> list[PartitionStatus]:
    """All partitions of the installation. Raises `BrokerError`s."""
    found = cluster.topics([topics.jobs], REQUEST_S)
    if topics.jobs not in found:
        raise CommandFailed(
            f"there is no topic {topics.jobs}; make the topics with 'tocsin topics apply'", NEGATIVE
        )
    count = found[topics.jobs].partitions
    marks = committed_marks(cluster, topics, count, REQUEST_S)
    reader = cluster.log_reader(topics.scheduler_group)
    try:
        backlogs = _backlogs(reader, topics, range(count))
    finally:
        reader.close()
    return [
        _status(number, marks.get(number), told.get(number), backlogs[number], now)
        for number in range(count)
    ]


def _status(
    number: int, mark: Mark | None, told: Told | None, backlog: int, now: int
) -> PartitionStatus:
    return PartitionStatus(
        partition=number,
        owner=None if mark is None else mark.owner,
        phase=None if told is None else told.phase,
        lag_ms=_lag_ms(mark, told, now),
        restoring=None if told is None else told.restoring,
        jobs=None if told is None else told.jobs,
        open_runs=None if told is None else told.open_runs,
        backlog=backlog,
    )


def _lag_ms(mark: Mark | None, told: Told | None, now: int) -> int:
    """The owner knows; without its word only a watermark older than its refreshment tells."""
    if told is not None and told.watermark_lag_ms is not None:
        return told.watermark_lag_ms
    return 0 if mark is None else max(0, now - mark.instant - REFRESHED_MS)


def _backlogs(reader: LogReader, topics: Topics, numbers: Iterable[int]) -> dict[int, int]:
    sources = (topics.jobs, topics.signals, topics.outcomes)
    places = [TopicPartition(topic, number) for number in numbers for topic in sources]
    ends = reader.end_offsets(places, REQUEST_S)
    committed = reader.committed(places, REQUEST_S)
    backlogs: dict[int, int] = {}
    for place in places:
        offset = committed[place].offset or 0
        backlogs[place.partition] = backlogs.get(place.partition, 0) + max(0, ends[place] - offset)
    return backlogs
