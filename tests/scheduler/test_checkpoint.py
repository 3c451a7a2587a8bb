"""Which local stores are good for a restore, and which are made anew from the log."""

import pytest

from tests.scheduler.nodes import PARTITIONS, TOPICS, Town
from tocsin.broker.port import Committed
from tocsin.wire.headers import SourceIds
from tocsin_scheduler.core.place import end_of
from tocsin_scheduler.shell.checkpoint import HOUR_MS, Checkpoint, objection
from tocsin_scheduler.shell.estate import Estate, Stretch
from tocsin_scheduler.shell.log_identity import LogIdentity
from tocsin_scheduler.shell.metadata import Mark, encode_mark
from tocsin_scheduler.store.memory import MemoryStores

DAY_MS = 24 * HOUR_MS
NOW = 1_790_000_000_000
SOURCES = SourceIds("jobs-1", "signals-1", "outcomes-1")
LOG = LogIdentity("cluster", SOURCES, "state-1")
ESTATE = Estate(
    jobs=Committed(90, "v1"),
    signals=Committed(0, "v1"),
    outcomes=Committed(0, "v1"),
    jobs_log=Stretch(10, 100),
    signals_log=Stretch(0, 0),
    outcomes_log=Stretch(0, 0),
    state_log=Stretch(20, 200),
    recent=0,
)


def checkpoint(
    *, age_ms: int = 0, jobs: int = 50, state: int = 100, log: LogIdentity = LOG, form: int = 1
) -> Checkpoint:
    return Checkpoint(b"", jobs, 0, 0, state, NOW - age_ms, log, form)


def says(found: Checkpoint | None) -> str | None:
    return objection(found, LOG, ESTATE, NOW, DAY_MS)


def test_a_recent_checkpoint_of_this_log_is_good() -> None:
    assert says(checkpoint()) is None
    assert says(checkpoint(age_ms=23 * HOUR_MS)) is None


def test_b159_a_store_older_than_compaction_leaves_whole_is_not_used() -> None:
    assert (
        says(checkpoint(age_ms=23 * HOUR_MS + 1)) == "it is older than what compaction leaves whole"
    )


def test_its_age_is_judged_by_the_last_watermark_too_where_the_clock_is_behind() -> None:
    place = end_of(NOW + 2 * DAY_MS)
    estate = ESTATE._replace(jobs=Committed(50, encode_mark(Mark(place, None))))
    found = checkpoint(age_ms=0)
    told = objection(found, LOG, estate, NOW, DAY_MS)
    assert told == "it is older than what compaction leaves whole"


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (None, "no checkpoint"),
        (checkpoint(form=2), "format"),
        (checkpoint(log=LOG._replace(cluster_id="another")), "another cluster"),
        *(
            (checkpoint(log=LOG._replace(sources=sources)), "other topics of the same name")
            for sources in (
                SOURCES._replace(jobs="made again"),
                SOURCES._replace(signals="made again"),
                SOURCES._replace(outcomes="made again"),
            )
        ),
        (checkpoint(log=LOG._replace(state_id="made again")), "other topics of the same name"),
        (checkpoint(jobs=101), "beyond the log's end"),
        (checkpoint(jobs=9), "behind its beginning"),
        (checkpoint(state=201), "beyond the log's end"),
        (checkpoint(state=19), "behind its beginning"),
    ],
)
def test_a_store_that_does_not_fit_the_log_is_not_used(
    found: Checkpoint | None, reason: str
) -> None:
    assert reason in (says(found) or "")


def test_b159_a_job_deleted_while_a_node_was_down_stays_deleted() -> None:
    """Tombstones and all have been compacted away by the time that its old store is there again."""
    town = Town()
    for number in range(4):
        town.put(f"job-{number}")
    town.node("a")
    town.settle()
    town.pass_time(2_000)
    old = town.kill(town.nodes[0])
    town.node("b")
    town.settle()
    for number in range(4):
        town.delete(f"job-{number}")
    town.settle()
    town.clock.advance(2 * DAY_MS)
    town.settle()
    for number in range(PARTITIONS):
        for topic in (TOPICS.jobs, TOPICS.state):
            town.cluster.compact(topic, number, drop_tombstones=True)
    before = len(town.runs())
    town.kill(town.nodes[0])
    town.node("a", old)
    town.settle(20)
    town.pass_time(5_000)
    assert len(town.runs()) == before


def test_a_store_whose_partition_was_elsewhere_meanwhile_is_brought_up_to_date() -> None:
    town = Town()
    town.put("job-0")
    town.node("a")
    town.settle()
    town.pass_time(2_000)
    old = town.kill(town.nodes[0])
    town.node("b", MemoryStores())
    town.pass_time(2_000)
    town.delete("job-0")
    town.put("job-1")
    town.pass_time(2_000)
    town.kill(town.nodes[0])
    town.node("a", old)
    town.settle(20)
    town.pass_time(2_000)
    assert town.times("job-0") == [1, 2, 3, 4]
    assert town.times("job-1") == [5, 6, 7, 8]
