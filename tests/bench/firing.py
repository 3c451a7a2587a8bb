"""fire_allow_all, fire_skip: how fast one scheduler process emits what is due at one instant."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from tests.bench.jobs import a_job, sleepers
from tests.bench.measurement import Measurement, median_of
from tests.bench.run_log import RunLog, Seen
from tests.bench.seeding import Seeding
from tests.bench.services import Service
from tests.bench.stage import Stage
from tests.bench.waiting import sleep_until
from tocsin import clock
from tocsin.model.jobs import Job, Overlap
from tocsin.model.keys import parse_run_id
from tocsin.timetable import ScheduleFields

REPEATS = 3
PROBE = 0.05
PERIOD_S = 30


def fire_allow_all(stage: Stage) -> Iterator[Measurement]:
    """The same jobs three times."""
    yield _fire(stage, "fire_allow_all", "allow_all", sets=1)


def fire_skip(stage: Stage) -> Iterator[Measurement]:
    """New jobs each time: with no worker a run never ends, and `skip` would skip the next."""
    yield _fire(stage, "fire_skip", "skip", sets=REPEATS)


def _fire(stage: Stage, bench: str, overlap: Overlap, sets: int) -> Measurement:
    number = stage.size.count(300_000)
    bursts: list[Burst] = []
    with (
        stage.installation() as installation,
        installation.run_log() as log,
        installation.scheduler() as scheduler,
    ):
        seeding = Seeding(installation)
        probe = int(number * PROBE)
        seeding.put(sleepers("probe", clock.now_ms(), probe), probe)
        for name in range(sets):
            due = _whole_period(seeding.done_by(number))
            stage.tell(f"  {number} jobs, due in {(due - clock.now_ms()) / 1000:.0f} s")
            schedule = _every_period(due) if sets == 1 else _once(due)
            seeding.put(_jobs(f"set-{name}", number, schedule, overlap), number, before=due)
            for repeat in range(REPEATS // sets):
                burst = due + repeat * PERIOD_S * 1_000
                bursts.append(_burst(scheduler, log, number, burst))
    rates = [burst.runs_per_s for burst in bursts]
    costs = [burst.cpu_us_per_run for burst in bursts]
    detail = {"jobs": number, "cpu_us_per_run": costs, "put_and_applied_per_s": seeding.rates}
    return median_of(bench, "runs/s", rates, **detail)


class Burst(NamedTuple):
    """One instant's runs."""

    runs_per_s: float
    cpu_us_per_run: int


def _burst(scheduler: Service, log: RunLog, number: int, due: int) -> Burst:
    sleep_until(due - 1_000)
    log.skip()
    cpu_s = scheduler.cpu_s()
    fired = log.read_at_last(number)
    _check(fired, number, due)
    return Burst(_rate(fired), round((scheduler.cpu_s() - cpu_s) * 1e6 / number))


def _every_period(first: int) -> ScheduleFields:
    return ScheduleFields(cron=f"*/{PERIOD_S} * * * * *", start=first)


def _once(due: int) -> ScheduleFields:
    """That second, once a year."""
    at = datetime.fromtimestamp(due / 1000, UTC)
    return ScheduleFields(cron=f"{at.second} {at.minute} {at.hour} {at.day} {at.month} *")


def _jobs(name: str, number: int, schedule: ScheduleFields, overlap: Overlap) -> Iterator[Job]:
    for n in range(number):
        yield a_job(f"{name}-{n}", schedule, overlap=overlap)


def _whole_period(after: int) -> int:
    """The first instant of the schedule later than `after`."""
    return (after // (PERIOD_S * 1_000) + 1) * PERIOD_S * 1_000


def _check(fired: list[Seen], number: int, due: int) -> None:
    """Each of the jobs once, and nothing else."""
    names = {run.run_id for run in fired}
    times = {parse_run_id(name).scheduled_time for name in names}
    if len(fired) != number or len(names) != number or times != {due}:
        raise RuntimeError(
            f"{number} runs were due at {due}; emitted: {len(fired)}, distinct: {len(names)}, "
            f"due at {sorted(times)[:5]}"
        )


def _rate(fired: list[Seen]) -> float:
    """By the broker's clock, from the first append to the last."""
    times = [run.appended for run in fired]
    return len(fired) * 1000 / max(1, max(times) - min(times))
