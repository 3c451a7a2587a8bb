"""Outcomes in Avro, put together by hand where they hold neither a run nor an error.

That is how most runs end, and it takes a fifth of the time.
"""

from tocsin.model.runs import Outcome
from tocsin.wire.codec import OUTCOME
from tocsin.wire.primitives import NULL, long, optional_bytes, optional_long, sized, text


def outcome_value(outcome: Outcome) -> bytes:
    """A framed outcome, the same bytes as those of `OUTCOME.encode`."""
    if outcome.run is not None or outcome.error is not None:
        return OUTCOME.encode(outcome)
    return b"".join(
        (
            OUTCOME.prefix,
            sized(outcome.run_id.encode()),
            text(outcome.tenant),
            sized(outcome.job_id.encode()),
            long(outcome.attempt),
            text(outcome.kind),
            text(outcome.worker),
            long(outcome.time),
            optional_long(outcome.started_time),
            optional_long(outcome.lease_ms),
            NULL,
            optional_bytes(outcome.result),
            NULL,
        )
    )
