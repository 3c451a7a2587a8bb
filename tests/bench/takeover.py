"""takeover_kill, takeover_restart: from SIGKILL inside a transaction to the next fire."""

import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

from tests.bench.installation import PARTITIONS, Installation
from tests.bench.jobs import intervals
from tests.bench.measurement import Measurement, median_of
from tests.bench.phases import timeline
from tests.bench.run_log import RunLog, Seen
from tests.bench.seeding import WARM_UP_S, Seeding
from tests.bench.services import Service, running
from tests.bench.stage import Stage
from tests.bench.waiting import WaitedTooLong, until
from tocsin import clock
from tocsin.model.jobs import Job
from tocsin.model.keys import parse_run_id
from tocsin.wire.partitions import partition_of

REPEATS = 3
DUE_PER_S = 500
_FREEZES = 200
_PATIENCE_S = 90


def takeover_kill(stage: Stage) -> Iterator[Measurement]:
    """Two schedulers; one dies, the other takes over. Another comes before the next time."""
    number, rate = _load(stage)
    samples, timelines = [], []
    with _firing(stage) as (installation, log), installation.scheduler() as survivor:
        Seeding(installation).put(_jobs(number, rate), number)
        for _ in range(REPEATS):
            with installation.scheduler() as victim:
                until(lambda: _share_evenly(victim, survivor), "both have their share")
                time.sleep(WARM_UP_S)
                partitions = owned(victim)
                killed = _kill_in_transaction(victim, log)
                first = _first_fire(log, partitions, killed)
                samples.append((first.readable - killed) / 1000)
                timelines.append(timeline(survivor.log, killed))
                stage.tell(f"  {samples[-1]:.2f} s")
    detail = {"jobs": number, "due_per_s": rate, "phases_s": timelines}
    yield median_of("takeover_kill", "s", samples, **detail)


def takeover_restart(stage: Stage) -> Iterator[Measurement]:
    """One scheduler with a node id, started again in place at once."""
    number, rate = _load(stage)
    samples, timelines = [], []
    with _firing(stage) as (installation, log), ExitStack() as stack:
        scheduler = stack.enter_context(installation.scheduler(NODE_ID="bench"))
        Seeding(installation).put(_jobs(number, rate), number)
        for _ in range(REPEATS):
            time.sleep(WARM_UP_S)
            killed = _kill_in_transaction(scheduler, log)
            again = installation.start("scheduler", NODE_ID="bench")
            scheduler = stack.enter_context(running(again, ready_s=0))
            first = _first_fire(log, range(PARTITIONS), killed)
            samples.append((first.readable - killed) / 1000)
            stage.tell(f"  {samples[-1]:.2f} s")
            scheduler.wait_until_ready()
            timelines.append(timeline(scheduler.log, killed))
    detail = {"jobs": number, "due_per_s": rate, "phases_s": timelines}
    yield median_of("takeover_restart", "s", samples, **detail)


def owned(scheduler: Service) -> frozenset[int]:
    """The partitions that a scheduler says it owns; at most a second old."""
    partitions = scheduler.page("/status")["partitions"]
    return frozenset(p["partition"] for p in partitions if p["phase"] == "owned")


def _load(stage: Stage) -> tuple[int, int]:
    return stage.size.count(10_000), stage.size.count(DUE_PER_S)


@contextmanager
def _firing(stage: Stage) -> Iterator[tuple[Installation, RunLog]]:
    with stage.installation() as installation, installation.run_log() as log:
        yield installation, log


def _jobs(number: int, rate: int) -> Iterator[Job]:
    return intervals("due", clock.now_ms(), number, rate, overlap="allow_all")


def _share_evenly(*schedulers: Service) -> bool:
    share = PARTITIONS // len(schedulers)
    return all(len(owned(scheduler)) == share for scheduler in schedulers)


def _kill_in_transaction(victim: Service, log: RunLog) -> int:
    """The instant at which it stopped, epoch milliseconds.

    It is frozen first: if then the readers of the runs are held up, a transaction of its is open,
    and it is killed before it has gone on. Else it goes on for a moment.
    """
    for attempt in range(_FREEZES):
        victim.freeze()
        stopped = clock.now_ms()
        if log.is_held_up():
            victim.kill()
            return stopped
        victim.thaw()
        time.sleep(0.05 + attempt % 7 * 0.003)
    raise WaitedTooLong("the scheduler was never met inside a transaction")


def _first_fire(log: RunLog, partitions: Collection[int], after: int) -> Seen:
    """The first run readable of these partitions' jobs that was due after that instant."""
    deadline = clock.monotonic_ms() + _PATIENCE_S * 1000
    while clock.monotonic_ms() < deadline:
        for run in log.read(0.05):
            name = parse_run_id(run.run_id)
            number = partition_of(str(name.key).encode(), PARTITIONS)
            if name.scheduled_time > after and number in partitions:
                return run
    raise WaitedTooLong(f"nothing of partitions {sorted(partitions)} has fired")
