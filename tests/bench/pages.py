"""Pages that people ask for, over jobs that have what one looks for: first ones and later ones, all
and by status, owner, tag, words, job, handler and time."""

from collections.abc import Iterator
from random import Random
from urllib.parse import urlencode

from tests.bench.jobs import LONG_MS, one_off
from tocsin.model.jobs import Job
from tocsin.model.keys import run_id
from tocsin.timetable.instants import format_instant
from tocsin_gateway.projection.cursors import write_cursor

LIMIT = 50
_WORDS = ("report", "invoice", "backup", "mail", "export", "cleanup")
_TEAMS = 100
_OWNERS = 1_000
_PERIOD_MS = 10_000


def filed_jobs(now: int, number: int) -> Iterator[Job]:
    """One-offs of next year, each with owner, tags and description."""
    for n in range(number):
        yield one_off(
            f"job-{n}",
            now + LONG_MS + n * 1000,
            owner=f"owner-{n % _OWNERS}",
            tags={"team": f"team-{n % _TEAMS}", "env": "prod"},
            description=f"{_WORDS[n % 6]} of region {n % 40}, number n{n}",
        )


def a_page(random: Random, jobs: int, due: range) -> str:
    """The path of one. `due`: when the runs were, see `write_history`."""
    n, at = random.randrange(jobs), random.choice(due)
    name, asked = random.choice([("jobs", _of_jobs(n)), ("runs", _of_runs(at, jobs))])
    return f"/v1/{name}?{urlencode({'limit': LIMIT, **random.choice(asked)})}"


def _of_jobs(n: int) -> list[dict[str, str]]:
    """Each as likely as another."""
    after = write_cursor("jobs job_id", (f"job-{n}",))
    before = write_cursor("jobs -job_id", (f"job-{n}",))
    return [
        {},
        {"cursor": after},
        {"sort": "-job_id", "cursor": before},
        {"sort": "-created_at"},
        {"status": "active", "cursor": after},
        {"status": "paused"},
        {"owner": f"owner-{n % _OWNERS}"},
        {"tag": f"team:team-{n % _TEAMS}", "cursor": after},
        {"tag": "env:prod", "sort": "created_at"},
        {"q": f"n{n}"},
        {"q": f"job-{n // 10}"},
        {"q": f"{_WORDS[n % 6]} {n % 40}", "cursor": after},
        {"q": "nothing"},
    ]


def _of_runs(at: int, jobs: int) -> list[dict[str, str]]:
    """Each as likely as another."""
    job_id = f"job-{at % jobs}"
    before = write_cursor("runs", (at, run_id("default", job_id, at)))
    period = {"since": format_instant(at - _PERIOD_MS), "until": format_instant(at + 1)}
    return [
        {},
        {"cursor": before},
        {"job_id": job_id},
        {"status": "dead"},
        {"status": "pending", "cursor": before},
        {"tag": f"team:team-{at % _TEAMS}", "cursor": before},
        {"handler": "noop", "cursor": before},
        {"handler": "http"},
        period,
        {**period, "tag": "env", "cursor": before},
        {**period, "status": "pending", "handler": "noop"},
    ]
