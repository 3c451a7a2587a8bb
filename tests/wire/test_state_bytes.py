"""The state of a run put together by hand is the state encoded whole."""

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from tests.worker.support import a_run
from tocsin.model.jobs import Overlap
from tocsin.model.runs import Cause
from tocsin.model.state import Phase, RunState
from tocsin.wire.codec import RUN_STATE
from tocsin.wire.state_bytes import run_state_value

LONGS = st.integers(-(2**63), 2**63 - 1)


@given(
    phase=st.sampled_from(get_args(Phase)),
    attempt=st.integers(-(2**31), 2**31 - 1),
    cause=st.sampled_from(get_args(Cause)),
    scheduled_time=LONGS,
    deadline=LONGS,
    worker=st.none() | st.text(max_size=200),
    lease_ms=st.none() | LONGS,
    started_time=st.none() | LONGS,
    overlap=st.sampled_from([None, *get_args(Overlap)]),
    run=st.sampled_from([None, a_run()]),
)
def test_the_bytes_are_those_of_the_whole(**fields: object) -> None:
    state = RunState(**fields)  # type: ignore[arg-type]
    assert run_state_value(state) == RUN_STATE.encode(state)
