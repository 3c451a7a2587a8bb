"""What the history says in numbers.

Of a tenant from its tallies; of a job from its rows, which are few, and the tallies of those that
its limit by count has removed. So an answer takes no longer on a large system.
"""

from collections import Counter
from collections.abc import Mapping
from typing import cast, get_args

from sqlalchemy import select

from tocsin.model.keys import JobKey
from tocsin.model.runs import RunStatus
from tocsin.model.values import Value
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.filters import of_job
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.job_counts import Phase, jobs_by_phase
from tocsin_gateway.projection.tables import runs
from tocsin_gateway.projection.tally import Spread, Tally, add, named, spread
from tocsin_gateway.projection.tally_rows import (
    HOUR_MS,
    TEN_MINUTES_MS,
    removed_tally,
    start_of,
    tenant_tally,
)

MOST_ROWS = 20_000
_MOST_REASONS = 10
_FAILED: tuple[RunStatus, ...] = ("dead", "expired")


class Statistics(Value, frozen=True):
    """What became of the occurrences scheduled from `since` on, which is at most a part of an hour
    before what was asked for; `is_whole` is False where a job has more rows than are looked at,
    and `since` is later.

    statuses: occurrences by status. reasons: why occurrences did not run, the most frequent.
    duration: of the last attempt of ended runs. lateness: from due to the first start.
    """

    since: int
    is_whole: bool
    statuses: Mapping[RunStatus, int]
    reasons: Mapping[str, int]
    retried: int
    duration: Spread
    lateness: Spread

    @property
    def success_rate(self) -> float | None:
        """The part of succeeded runs in those that succeeded or failed for good."""
        succeeded = self.statuses.get("succeeded", 0)
        ended = succeeded + sum(self.statuses.get(status, 0) for status in _FAILED)
        return succeeded / ended if ended else None


class StatisticsReads:
    """Answers in numbers. Every call blocks on the database; for any thread."""

    def __init__(self, database: Database, *, most_rows: int = MOST_ROWS) -> None:
        self._database = database
        self._most_rows = most_rows

    def of_job(self, key: JobKey, since: int) -> Statistics:
        """Over the occurrences of a job scheduled at `since` or later; from the beginning of that
        hour on, where some of them have no rows any more."""
        hour = start_of(since, HOUR_MS)
        with self._database.read() as connection:
            tally = removed_tally(connection, key, hour)
            since = hour if tally else since
            newest = select(runs).where(of_job(key), runs.c.scheduled_time >= since)
            newest = newest.order_by(runs.c.run_id.desc()).limit(self._most_rows)
            rows = [RunRow(*row) for row in connection.execute(newest)]
        is_whole = len(rows) < self._most_rows
        if not is_whole:
            tally, since = Counter(), rows[-1].scheduled_time
        for row in rows:
            add(tally, row)
        return _statistics(tally, since, is_whole=is_whole)

    def of_tenant(self, tenant: str, since: int) -> Statistics:
        """Over all occurrences of a tenant, from the beginning of the ten minutes on that `since`
        is in."""
        since = start_of(since, TEN_MINUTES_MS)
        with self._database.read() as connection:
            tally = tenant_tally(connection, tenant, since)
        return _statistics(tally, since, is_whole=True)

    def jobs(self, tenant: str) -> dict[str, int]:
        """The tenant's jobs by phase."""
        with self._database.read() as connection:
            counts = jobs_by_phase(connection, tenant)
        return {phase: counts.get(phase, 0) for phase in get_args(Phase)}


def _statistics(tally: Tally, since: int, *, is_whole: bool) -> Statistics:
    reasons = sorted(named(tally, "reason").items(), key=lambda each: -each[1])
    return Statistics(
        since=since,
        is_whole=is_whole,
        statuses=cast(Mapping[RunStatus, int], named(tally, "status")),
        reasons=dict(reasons[:_MOST_REASONS]),
        retried=tally["retried"],
        duration=spread(tally, "duration"),
        lateness=spread(tally, "lateness"),
    )
