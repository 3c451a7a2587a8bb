"""Bringing many jobs in, and knowing when they are in."""

from collections.abc import Iterable

from tests.bench.installation import PARTITIONS, Installation
from tests.bench.services import Service
from tests.bench.waiting import WaitedTooLong, until
from tocsin import clock
from tocsin.broker.port import GroupMember, TopicPartition
from tocsin.model.jobs import Job
from tocsin_scheduler.core.place import end_of
from tocsin_scheduler.shell.metadata import SIBLING, Mark, encode_mark

WARM_UP_S = 5
_MARGIN = 1.5
_REQUEST_S = 30.0


class Seeding:
    """Puts jobs and waits until they are applied, and projected where there is a gateway.

    rates: of each `put`, jobs/s.
    """

    def __init__(self, installation: Installation, gateway: Service | None = None) -> None:
        self._installation = installation
        self._gateway = gateway
        self.rates: list[int] = []

    def put(self, jobs: Iterable[Job], number: int, before: int | None = None) -> None:
        """`number` jobs; all are in before the instant `before`. Raises WaitedTooLong."""
        began = clock.monotonic_ms()
        self._installation.put(jobs)
        self._installation.wait_until_applied()
        if self._gateway is not None:
            self._installation.wait_until_projected(self._gateway)
        self.rates.append(number * 1000 // max(1, clock.monotonic_ms() - began))
        if before is not None and clock.now_ms() > before:
            raise WaitedTooLong(f"{number} jobs were not applied when the first was due")

    def done_by(self, number: int) -> int:
        """The instant, epoch milliseconds, by which so many more are surely in, the warm-up
        included; judged by the last `put`."""
        needed_ms = _MARGIN * number / max(1, self.rates[-1]) * 1000
        return clock.now_ms() + int(needed_ms) + WARM_UP_S * 1000


def put_as_released(installation: Installation, jobs: Iterable[Job]) -> None:
    """Jobs as a scheduler leaves them that has applied them and was stopped: in the log, below the
    committed offsets, with no store anywhere. The first to start restores them all.

    There must be no scheduler, and the topics must be empty. Far quicker than to have them
    applied, for benchmarks of what comes afterwards.
    """
    installation.put(jobs)
    topics, cluster = installation.topics, installation.cluster
    producer = cluster.transactional_producer(topics.transactional_id("bench", "seed"))
    member = cluster.group_member(topics.scheduler_group)
    try:
        member.join(topics.jobs, _Indifferent())
        until(lambda: _holds_all(member), "the group is joined", every_s=0)
        producer.init(_REQUEST_S)
        producer.begin()
        producer.flush(_REQUEST_S)
        producer.send_offsets(_released(installation), member.group_metadata(), _REQUEST_S)
        producer.commit(_REQUEST_S)
    finally:
        producer.close()
        member.close()


def _holds_all(member: GroupMember) -> bool:
    member.poll(0.1)
    return len(member.assignment()) == PARTITIONS


def _released(installation: Installation) -> dict[TopicPartition, tuple[int, str]]:
    topics = installation.topics
    mark = encode_mark(Mark(end_of(clock.now_ms()), None))
    offsets = {place: (end, mark) for place, end in installation.ends(topics.jobs).items()}
    for topic in (topics.signals, topics.outcomes):
        offsets |= dict.fromkeys(installation.places(topic), (0, SIBLING))
    return offsets


class _Indifferent:
    """An `AssignmentListener` with nothing to do."""

    def on_assign(self, partitions: frozenset[TopicPartition]) -> None: ...

    def on_revoke(self, partitions: frozenset[TopicPartition]) -> None: ...

    def on_lost(self, partitions: frozenset[TopicPartition]) -> None: ...
