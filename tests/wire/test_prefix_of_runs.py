"""The first fields of a run, read without the rest."""

import msgspec
import pytest

from tests.wire.golden_values import GOLDEN
from tocsin.model.runs import Run
from tocsin.wire.codec import JOB, RUN, WireError
from tocsin.wire.prefixes import RUN_PREFIX, RunPrefix

RUNS = [run for run in GOLDEN["run"] if isinstance(run, Run)]


@pytest.mark.parametrize("run", RUNS)
def test_the_prefix_says_what_the_whole_says(run: Run) -> None:
    prefix = RUN_PREFIX.decode(RUN.encode(run))
    whole = msgspec.structs.asdict(run)
    assert msgspec.structs.asdict(prefix) == {
        name: whole[name] for name in RunPrefix.__struct_fields__
    }


@pytest.mark.parametrize("run", RUNS)
def test_what_comes_after_is_not_looked_at(run: Run) -> None:
    data = RUN.encode(run)
    assert RUN_PREFIX.decode(data[:-1] + b"\xff") == RUN_PREFIX.decode(data)


@pytest.mark.parametrize("data", [b"", b"{}", RUN.encode(RUNS[0])[:9], b"\0\0\0\0\1" + bytes(40)])
def test_what_is_no_run_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        RUN_PREFIX.decode(data)


def test_another_kind_of_value_is_refused() -> None:
    job = next(value for value in GOLDEN["job"])
    with pytest.raises(WireError, match="a run has"):
        RUN_PREFIX.decode(JOB.encode(job))  # type: ignore[arg-type]
