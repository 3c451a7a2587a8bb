"""What tells a target which run this is: as headers, and as an environment."""

import hashlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from tocsin.model.runs import Run

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run_headers(run: Run) -> dict[str, str]:
    """All attempts of a run share one trace."""
    return {
        "Idempotency-Key": run.run_id,
        "Tocsin-Job-Id": run.job_id,
        "Tocsin-Tenant": run.tenant,
        "Tocsin-Scheduled-Time": _rfc3339(run.scheduled_time),
        "Tocsin-Attempt": str(run.attempt),
        "traceparent": traceparent(run),
    }


def run_environment(run: Run) -> dict[str, str]:
    """For programs: containers and processes."""
    return {
        "TOCSIN_RUN_ID": run.run_id,
        "TOCSIN_JOB_ID": run.job_id,
        "TOCSIN_TENANT": run.tenant,
        "TOCSIN_SCHEDULED_TIME": _rfc3339(run.scheduled_time),
        "TOCSIN_ATTEMPT": str(run.attempt),
        "TRACEPARENT": traceparent(run),
    }


def traceparent(run: Run) -> str:
    """W3C Trace Context, version 00."""
    trace = hashlib.blake2b(run.run_id.encode(), digest_size=16).hexdigest()
    span = hashlib.blake2b(f"{run.run_id} {run.attempt}".encode(), digest_size=8).hexdigest()
    return f"00-{trace}-{span}-01"


@lru_cache(maxsize=256)
def _rfc3339(at: int) -> str:
    """Many runs are of one instant."""
    moment = _EPOCH + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
