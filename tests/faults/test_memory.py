"""What a scheduler writes does not stay in its memory."""

import psutil
import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.processes import Service
from tests.faults.waiting import until
from tocsin.broker.port import TopicPartition
from tocsin.model.jobs import PRIORITIES

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(900)]

PER_SECOND = 1_000
PAYLOAD_BYTES = 10_000
WARM_UP, MEASURED = 10_000, 30_000
"""Runs. The measured ones are 300 MB, several times what a scheduler takes."""
GROWTH = 1.2
PATIENCE_S = 300.0


def test_b161_the_memory_of_a_scheduler_does_not_grow_with_what_it_emits(
    crew: Crew, installation: Installation
) -> None:
    scheduler = crew.scheduler("a")
    scheduler.until_owning(PARTITIONS)
    installation.put(
        installation.every_second(PER_SECOND, "allow_all", payload=b'"%s"' % (b"x" * PAYLOAD_BYTES))
    )
    until_written(installation, scheduler, WARM_UP)
    before = memory_of(scheduler)
    until_written(installation, scheduler, WARM_UP + MEASURED)
    after = memory_of(scheduler)
    print(f"{before / 2**20:.0f} MiB, then {after / 2**20:.0f} MiB")
    assert after < before * GROWTH


def until_written(installation: Installation, scheduler: Service, number: int) -> None:
    topics = installation.topics
    places = [TopicPartition(topics.runs(p), n) for p in PRIORITIES for n in range(PARTITIONS)]

    def written() -> bool:
        assert not scheduler.has_ended
        return sum(installation.high_watermarks(places).values()) >= number

    until(written, f"{number} runs are written", PATIENCE_S)


def memory_of(scheduler: Service) -> int:
    """Bytes, what is shared with other processes counted by its share."""
    return int(psutil.Process(scheduler.pid).memory_full_info().pss)
