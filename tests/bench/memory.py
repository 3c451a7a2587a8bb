"""stored_memory_ratio, memory_growth, idle_cpu: what a scheduler takes of the machine."""

import time
from collections.abc import Iterator
from statistics import median

from tests.bench.jobs import intervals, sleepers
from tests.bench.measurement import Measurement, median_of
from tests.bench.seeding import WARM_UP_S, Seeding, put_as_released
from tests.bench.services import RESTORE_S, Service
from tests.bench.stage import Stage
from tocsin import clock

SAMPLES = 3
_APART_S = 2


def stored_memory_ratio(stage: Stage) -> Iterator[Measurement]:
    """The same firing, with few jobs stored and with many; every stored job takes part in it."""
    rate = stage.size.count(100)
    few, many = stage.size.count(10_000), stage.size.count(1_000_000)
    low = _memory_with(stage, few, rate)
    high = _memory_with(stage, many, rate)
    yield median_of(
        "stored_memory_ratio",
        "ratio",
        [mib / median(low) for mib in high],
        due_per_s=rate,
        stored=[few, many],
        pss_mib=_medians(low, high),
    )


def memory_growth(stage: Stage) -> Iterator[Measurement]:
    """The whole cycle, due to outcome applied, over a long time."""
    number, rate = stage.size.count(10_000), stage.size.count(500)
    seconds = stage.size.seconds(600, 3600)
    with (
        stage.installation() as installation,
        installation.scheduler() as scheduler,
        installation.worker() as worker,
    ):
        Seeding(installation).put(intervals("due", clock.now_ms(), number, rate), number)
        time.sleep(stage.size.seconds(30))
        start, worker_start = _samples(scheduler), _samples(worker)
        stage.tell(f"  {median(start):.0f} MiB at the start, {seconds} s to go")
        time.sleep(seconds)
        end, worker_end = _samples(scheduler), _samples(worker)
        fired = scheduler.metric('tocsin_occurrences_total{result="emitted"}')
    yield median_of(
        "memory_growth",
        "ratio",
        [mib / median(start) for mib in end],
        due_per_s=rate,
        fired=int(fired),
        seconds=seconds,
        pss_mib=_medians(start, end),
        worker_pss_mib=_medians(worker_start, worker_end),
    )


def idle_cpu(stage: Stage) -> Iterator[Measurement]:
    """Many jobs stored of which none is due: three thirds of the time."""
    number, seconds = stage.size.count(1_000_000), stage.size.seconds(60) / SAMPLES
    with stage.installation() as installation:
        put_as_released(installation, sleepers("sleeper", clock.now_ms(), number))
        with installation.scheduler(ready_s=RESTORE_S) as scheduler:
            time.sleep(WARM_UP_S)
            samples = [_cpu_share(scheduler, seconds) for _ in range(SAMPLES)]
    yield median_of("idle_cpu", "% of a core", samples, stored=number, seconds=seconds * SAMPLES)


def _memory_with(stage: Stage, stored: int, rate: int) -> list[float]:
    """MiB, about 60 s after all is restored."""
    with stage.installation() as installation:
        put_as_released(installation, intervals("due", clock.now_ms(), stored, rate))
        with installation.scheduler(ready_s=RESTORE_S) as scheduler:
            stage.tell(f"  {stored} jobs are restored")
            time.sleep(stage.size.seconds(60))
            return _samples(scheduler)


def _medians(*samples: list[float]) -> list[float]:
    return [round(median(each), 1) for each in samples]


def _samples(service: Service) -> list[float]:
    found = []
    for _ in range(SAMPLES):
        found.append(service.pss_mib())
        time.sleep(_APART_S)
    return found


def _cpu_share(scheduler: Service, seconds: float) -> float:
    cpu_s, began = scheduler.cpu_s(), clock.monotonic_ms()
    time.sleep(seconds)
    return 100_000 * (scheduler.cpu_s() - cpu_s) / (clock.monotonic_ms() - began)
