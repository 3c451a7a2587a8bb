"""restore_cold, restore_warm, restore_lateness_p99: partitions brought up from the log."""

import shutil
import time
from collections.abc import Iterable, Iterator

from tests.bench.installation import PARTITIONS, Installation
from tests.bench.jobs import intervals
from tests.bench.measurement import Measurement, median_of, percentile
from tests.bench.phases import phases
from tests.bench.run_log import RunLog, Seen
from tests.bench.seeding import WARM_UP_S, put_as_released
from tests.bench.services import RESTORE_S, Service
from tests.bench.stage import Stage
from tests.bench.takeover import owned
from tests.bench.waiting import until
from tocsin import clock
from tocsin.model.keys import RunName, parse_run_id
from tocsin.wire.partitions import partition_of

REPEATS = 3
DUE_PER_S = 100


def restore(stage: Stage) -> Iterator[Measurement]:
    """One process starts three times without a store, then three times after a clean stop."""
    number, rate = stage.size.count(1_000_000), DUE_PER_S
    detail = {"jobs": number, "due_per_s": rate}
    with stage.installation() as installation:
        jobs = intervals("due", clock.now_ms(), number, rate, overlap="allow_all")
        put_as_released(installation, jobs)
        cold = []
        for _ in range(REPEATS):
            _wipe_stores(installation)
            cold.append(_restore_s(installation))
            stage.tell(f"  cold: {cold[-1]:.1f} s")
        yield median_of("restore_cold", "jobs/s", [number / s for s in cold], **detail)
        warm = [_restore_s(installation) for _ in range(REPEATS)]
        yield median_of("restore_warm", "s", warm, **detail)


def restore_lateness(stage: Stage) -> Iterator[Measurement]:
    """A scheduler that fires half of the partitions takes over the other half, cold."""
    number, rate = stage.size.count(1_000_000), DUE_PER_S
    samples, counts = [], []
    with stage.installation() as installation, installation.run_log() as log:
        jobs = intervals("due", clock.now_ms(), number, rate, overlap="allow_all")
        put_as_released(installation, jobs)
        with installation.scheduler(ready_s=RESTORE_S) as stayer:
            for _ in range(REPEATS):
                latenesses = _while_restoring(installation, log, stayer)
                samples.append(percentile(latenesses, 99))
                counts.append(len(latenesses))
                stage.tell(f"  {samples[-1]:.0f} ms")
    yield median_of("restore_lateness_p99", "ms", samples, jobs=number, due_per_s=rate, runs=counts)


def _while_restoring(installation: Installation, log: RunLog, stayer: Service) -> list[float]:
    """Latenesses, due to readable in ms, of the partitions that the stayer has all along."""
    with installation.scheduler(ready_s=RESTORE_S) as leaver:
        until(lambda: len(owned(leaver)) == PARTITIONS // 2, "half is owned", every_s=0.5)
        until(lambda: len(owned(stayer)) == PARTITIONS // 2, "half is kept", every_s=0.5)
        kept = owned(stayer)
        _wipe_stores(installation, frozenset(range(PARTITIONS)) - kept)
        time.sleep(WARM_UP_S)
        log.skip()
        before = len(phases(stayer.log))
    runs: list[Seen] = []

    def read() -> bool:
        runs.extend(log.read(0.1))
        return len(owned(stayer)) == PARTITIONS

    until(read, "all are owned", patience_s=RESTORE_S, every_s=0)
    times = [entered.at for entered in phases(stayer.log)[before:]]
    found = (
        (name.scheduled_time, run.readable - name.scheduled_time)
        for run in runs
        if _partition(name := parse_run_id(run.run_id)) in kept
    )
    return [lateness for due, lateness in found if times[0] <= due <= times[-1]]


def _restore_s(installation: Installation) -> float:
    """From the assignment to the moment when all can fire, by the process's own log."""
    with installation.scheduler(ready_s=RESTORE_S) as scheduler:
        until(lambda: len(owned(scheduler)) == PARTITIONS, "all are owned", every_s=0.2)
        times = [entered.at for entered in phases(scheduler.log)]
    return (max(times) - min(times)) / 1000


def _wipe_stores(installation: Installation, numbers: Iterable[int] = range(PARTITIONS)) -> None:
    """Of the first scheduler of the installation, which must not have them open."""
    for number in numbers:
        for store in installation.folder.glob(f"anonymous-0/*.{number}"):
            shutil.rmtree(store)


def _partition(name: RunName) -> int:
    return partition_of(str(name.key).encode(), PARTITIONS)
