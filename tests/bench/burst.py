"""burst_drain, burst_first_high: very much due at one instant, of many tenants."""

from collections.abc import Iterator

from tests.bench.jobs import one_off, sleepers
from tests.bench.measurement import Measurement, median_of
from tests.bench.run_log import RunLog, Seen
from tests.bench.seeding import Seeding
from tests.bench.stage import Stage
from tests.bench.waiting import sleep_until, until
from tocsin import clock
from tocsin.model.jobs import Job

REPEATS = 3
TENANTS = 10
ONE_HIGH_IN = 100


def burst(stage: Stage) -> Iterator[Measurement]:
    """One-offs, one in a hundred of them of high priority; no worker."""
    number = stage.size.count(200_000)
    drains, firsts = [], []
    with (
        stage.installation() as installation,
        installation.run_log() as log,
        installation.scheduler(),
    ):
        seeding = Seeding(installation)
        seeding.put(sleepers("sleeper", clock.now_ms(), number // 20), number // 20)
        for repeat in range(REPEATS):
            due = seeding.done_by(number)
            stage.tell(f"  {number} one-offs, due in {(due - clock.now_ms()) / 1000:.0f} s")
            seeding.put(_jobs(f"due-{repeat}", due, number), number, before=due)
            sleep_until(due - 500)
            runs = _follow(log, number)
            drains.append((max(run.readable for run in runs) - due) / 1000)
            firsts.append(min(run.readable for run in runs if run.priority == "high") - due)
    detail = {"runs": number, "high": -(-number // ONE_HIGH_IN), "tenants": TENANTS}
    yield median_of("burst_drain", "s", drains, **detail)
    yield median_of("burst_first_high", "ms", firsts, **detail)


def _jobs(name: str, due: int, number: int) -> Iterator[Job]:
    for n in range(number):
        yield one_off(
            f"{name}-{n}",
            due,
            tenant=f"tenant-{n // ONE_HIGH_IN % TENANTS}",
            priority="high" if n % ONE_HIGH_IN == 0 else "normal",
        )


def _follow(log: RunLog, number: int) -> list[Seen]:
    """The next `number` runs, as they become readable."""
    runs: list[Seen] = []

    def read() -> bool:
        runs.extend(log.read(0.1))
        return len(runs) >= number

    until(read, f"{number} runs are readable", every_s=0)
    return runs
