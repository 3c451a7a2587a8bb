"""projection_sqlite, projection_postgres: how fast a gateway takes in what is in the log."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

from tests.bench.installation import Installation
from tests.bench.jobs import a_run, a_success
from tests.bench.measurement import Measurement, median_of
from tests.bench.stage import Stage
from tests.bench.waiting import until
from tocsin import clock

REPEATS = 3
JOBS = 1_000
UNIT = "records/s"
_RECORDS = "tocsin_projection_records_total"


def projection_sqlite(stage: Stage) -> Iterator[Measurement]:
    yield _project(stage, "projection_sqlite")


def projection_postgres(stage: Stage) -> Iterator[Measurement]:
    """On the server that `TOCSIN_DATABASE_URL` names; what the database holds is lost."""
    url = os.environ.get("TOCSIN_DATABASE_URL", "")
    if url.startswith("postgresql"):
        yield _project(stage, "projection_postgres", DATABASE_URL=url)
    else:
        reason = "TOCSIN_DATABASE_URL names no PostgreSQL server"
        yield Measurement("projection_postgres", None, UNIT, {"skipped": reason})


def _project(stage: Stage, bench: str, **settings: str) -> Measurement:
    """Each time another installation: the gateway empties a read model that belongs to none."""
    number = stage.size.count(100_000)
    rates = []
    for _ in range(REPEATS):
        with stage.installation() as installation:
            write_history(installation, number, JOBS)
            rates.append(_rate(installation, 2 * number, settings))
        stage.tell(f"  {rates[-1]:.0f} records/s")
    return median_of(bench, UNIT, rates, runs=number, outcomes=number)


def write_history(
    installation: Installation, number: int, jobs: int, *, outcomes: bool = True
) -> range:
    """Runs, and how they ended, as scheduler and worker write them, the jobs in turn: when they
    were due. That of job `n` is due where the time leaves a remainder of `n`."""
    now = clock.now_ms()
    due = range(now - number, now)
    installation.emit(a_run(f"job-{at % jobs}", at) for at in due)
    if outcomes:
        installation.say(a_success(f"job-{at % jobs}", at) for at in due)
    return due


def _rate(installation: Installation, records: int, settings: Mapping[str, str]) -> float:
    """Records a second, from the last look at which none was committed: also where all come in one
    batch. It begins to listen before it has read anything."""
    seen = [(clock.monotonic_ms(), 0.0)]
    with installation.gateway(ready_s=0, **settings) as gateway:

        def look() -> float:
            count = 0.0
            with suppress(OSError):  # it does not listen yet
                count = gateway.metric(_RECORDS)
            if count > seen[-1][1]:
                seen.append((clock.monotonic_ms(), count))
            elif not count:
                seen[0] = (clock.monotonic_ms(), 0.0)
            gateway.check()
            return count

        until(lambda: look() >= records, f"{records} records are projected", every_s=0.05)
    (began, _), (ended, last) = seen[0], seen[-1]
    return last * 1000 / max(1, ended - began)
