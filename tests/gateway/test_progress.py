"""How far the read model has come, and how many wait for it."""

from concurrent.futures import CancelledError

import pytest

from tocsin.broker.port import TopicPartition
from tocsin_gateway.projection.progress import Demand, Progress

JOBS = TopicPartition("jobs", 0)
OTHERS = TopicPartition("jobs", 1)


@pytest.fixture
def progress() -> Progress:
    return Progress()


def test_who_waits_hears_when_the_record_is_there(progress: Progress) -> None:
    waiting, later = progress.passed(JOBS, 4), progress.passed(JOBS, 5)
    progress.publish({JOBS: 5})

    assert waiting.done()
    assert not later.done()
    assert progress.passed(JOBS, 4).done()


def test_the_demand_is_told_when_it_changes(progress: Progress) -> None:
    told: list[Demand] = []
    progress.listen(told.append)
    progress.passed(JOBS, 4)
    progress.passed(OTHERS, 4)
    progress.passed(OTHERS, 5)
    progress.publish({JOBS: 5})
    progress.publish({OTHERS: 5})
    progress.publish({OTHERS: 6})

    assert told == [Demand.ONE, Demand.CROWD, Demand.ONE, Demand.NONE]


def test_a_run_that_is_awaited_is_demand_until_it_changes(progress: Progress) -> None:
    learnt = progress.learnt("r")
    progress.publish({JOBS: 1}, ["another"])
    assert (progress.demand, learnt.done()) == (Demand.ONE, False)

    progress.publish({JOBS: 2}, ["r"])
    assert learnt.done()
    progress.publish({JOBS: 3})
    assert progress.demand is Demand.NONE


def test_who_gave_up_is_no_demand(progress: Progress) -> None:
    learnt = progress.learnt("r")
    learnt.cancel()
    progress.publish({JOBS: 1})

    assert progress.demand is Demand.NONE
    with pytest.raises(CancelledError):
        learnt.result(0)


def test_a_read_model_that_begins_anew_keeps_who_waits(progress: Progress) -> None:
    progress.publish({JOBS: 9})
    waiting = progress.passed(JOBS, 9)
    progress.begin_anew()
    progress.publish({JOBS: 3})
    assert not waiting.done()
    assert progress.reached("jobs") == (3,)

    progress.publish({JOBS: 10})
    assert waiting.done()
