"""What the history says in numbers.

Taken over the newest rows of a period, a bounded number of them, so that an answer takes no
longer on a large system; it says how far back it reaches.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from statistics import fmean
from typing import Any

from sqlalchemy import ColumnElement, Row, func, select

from tocsin.model.keys import JobKey
from tocsin.model.runs import RunStatus
from tocsin.model.values import Value
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.filters import of_job
from tocsin_gateway.projection.tables import completions, jobs, runs

MOST_ROWS = 50_000
_MOST_REASONS = 10
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1.0}
_FAILED: tuple[RunStatus, ...] = ("dead", "expired")
_NOT_RUN: tuple[RunStatus, ...] = ("skipped", "missed")


class Spread(Value, frozen=True):
    """How values in milliseconds are spread: quantiles by nearest rank; without values, none."""

    count: int = 0
    mean: float | None = None
    quantiles: Mapping[str, int] = {}


class Statistics(Value, frozen=True):
    """What became of the occurrences scheduled from `since` on; `is_whole` is False where there
    are more than could be looked at, and `since` is later than was asked for.

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
        """Over the runs of a job scheduled at `since` or later."""
        return self._over(of_job(key), since)

    def of_tenant(self, tenant: str, since: int) -> Statistics:
        """Over all runs of a tenant scheduled at `since` or later."""
        return self._over(runs.c.tenant == tenant, since)

    def jobs(self, tenant: str) -> dict[str, int]:
        """The tenant's jobs by phase."""
        stored = select(jobs.c.status, func.count().label("number")).where(
            jobs.c.tenant == tenant, jobs.c.status.is_not(None)
        )
        completed = (
            select(func.count())
            .join_from(
                completions,
                jobs,
                (jobs.c.tenant == completions.c.tenant)
                & (jobs.c.job_id == completions.c.job_id)
                & (jobs.c.revision == completions.c.revision),
            )
            .where(completions.c.tenant == tenant, jobs.c.status == "active")
        )
        with self._database.read() as connection:
            rows = connection.execute(stored.group_by(jobs.c.status)).all()
            ended = connection.execute(completed).scalar() or 0
        counted: dict[str, int] = {row.status: row.number for row in rows}
        active = counted.get("active", 0) - ended
        return {"active": active, "paused": counted.get("paused", 0), "completed": ended}

    def _over(self, which: ColumnElement[bool], since: int) -> Statistics:
        """`which`: rows that stand in an index by their scheduled time."""
        newest = select(
            runs.c.scheduled_time,
            runs.c.status,
            runs.c.count,
            runs.c.attempt,
            runs.c.reason,
            runs.c.finished_time - runs.c.started_time,
            runs.c.first_started_time - runs.c.due_time,
        ).where(which, runs.c.scheduled_time >= since)
        newest = newest.order_by(runs.c.scheduled_time.desc(), runs.c.run_id.desc())
        with self._database.read() as connection:
            rows = connection.execute(newest.limit(self._most_rows)).all()
        return _statistics(rows, since, is_whole=len(rows) < self._most_rows)


def _statistics(rows: Sequence[Row[*tuple[Any, ...]]], since: int, *, is_whole: bool) -> Statistics:
    """`rows`: newest first."""
    statuses: Counter[RunStatus] = Counter()
    reasons: Counter[str] = Counter()
    durations, latenesses = list[int](), list[int]()
    retried = 0
    for _, status, count, attempt, reason, duration, lateness in rows:
        statuses[status] += count
        if status in _NOT_RUN:
            reasons[reason or ""] += count
        retried += attempt > 1
        if duration is not None:
            durations.append(duration)
        if lateness is not None:
            latenesses.append(lateness)
    return Statistics(
        since=since if is_whole else rows[-1].scheduled_time,
        is_whole=is_whole,
        statuses=dict(statuses),
        reasons=dict(reasons.most_common(_MOST_REASONS)),
        retried=retried,
        duration=spread(durations),
        lateness=spread(latenesses),
    )


def spread(values: list[int]) -> Spread:
    """Of values in any order, which are sorted here."""
    if not values:
        return Spread()
    values.sort()
    ranks = {name: ceil(part * len(values)) - 1 for name, part in _QUANTILES.items()}
    quantiles = {name: values[rank] for name, rank in ranks.items()}
    return Spread(count=len(values), mean=round(fmean(values), 1), quantiles=quantiles)
