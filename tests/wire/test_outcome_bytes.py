"""An outcome put together by hand is the outcome encoded whole."""

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from tests.worker.support import a_run
from tocsin.model.runs import Error, Outcome, OutcomeKind
from tocsin.wire.codec import OUTCOME
from tocsin.wire.outcome_bytes import outcome_value

LONGS = st.integers(-(2**63), 2**63 - 1)
NAMES = st.text(max_size=200)


@given(
    names=st.tuples(NAMES, NAMES, NAMES, NAMES),
    attempt=st.integers(-(2**31), 2**31 - 1),
    kind=st.sampled_from(get_args(OutcomeKind)),
    time=LONGS,
    started_time=st.none() | LONGS,
    lease_ms=st.none() | LONGS,
    result=st.none() | st.binary(max_size=300),
    run=st.sampled_from([None, a_run()]),
    error=st.sampled_from([None, Error(code="timeout", message="é")]),
)
def test_the_bytes_are_those_of_the_whole(
    names: tuple[str, str, str, str], **fields: object
) -> None:
    run_id, tenant, job_id, worker = names
    outcome = Outcome(run_id=run_id, tenant=tenant, job_id=job_id, worker=worker, **fields)  # type: ignore[arg-type]
    assert outcome_value(outcome) == OUTCOME.encode(outcome)
