"""What workers say of runs."""

import msgspec

from tocsin.model.runs import Outcome, Run

WHOLE = frozenset({"started", "deferred", "failed", "declined"})
"""Outcomes that carry the run, so that the scheduler can emit it again."""

NOT_BEGUN = frozenset({"declined", "expired"})


def outcome_of(run: Run, kind: str, now: int, worker: str = "w", **error: object) -> Outcome:
    """What a worker says of a run now. error: fields of the error, which a failure always has."""
    told = {"code": "exception", "message": "no", **error}
    fields = {
        "run_id": run.run_id,
        "tenant": run.tenant,
        "job_id": run.job_id,
        "attempt": run.attempt,
        "kind": kind,
        "worker": worker,
        "time": now,
        "started_time": None if kind in NOT_BEGUN else now,
        "lease_ms": 60_000 if kind == "started" else None,
        "run": msgspec.to_builtins(run, builtin_types=(bytes,)) if kind in WHOLE else None,
        "error": told if kind == "failed" or error else None,
    }
    return msgspec.convert(fields, Outcome)
