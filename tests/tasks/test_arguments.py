"""A task's arguments as the job's payload, and back."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.tasks import TaskContext
from tocsin.tasks.arguments import TaskSignature
from tocsin.tasks.failures import TaskFailed

RUN = TaskContext(
    run_id="r",
    tenant="t",
    job_id="j",
    attempt=1,
    max_attempts=1,
    scheduled_time=datetime(2026, 1, 1, tzinfo=UTC),
)


def plain(a: int, b: int = 2, *, c: int = 3) -> Any:
    return a, b, c


def told_first(run: TaskContext, a: int, b: int = 2) -> Any:
    assert run is RUN
    return a, b


def told_between(a: int, run: "TaskContext", b: int = 2) -> Any:
    assert run is RUN
    return a, b


def any_number(*numbers: int) -> Any:
    return numbers


def any_names(a: int = 0, **names: int) -> Any:
    return a, names


def by_position(a: int, b: int = 2, /) -> Any:
    return a, b


NUMBERS = st.lists(st.integers(-9, 9), max_size=4).map(tuple)
NAMES = st.dictionaries(st.sampled_from("abcd"), st.integers(-9, 9), max_size=4)
FUNCTIONS = st.sampled_from([plain, told_first, told_between, any_number, any_names, by_position])


def direct(function: Any, args: tuple[int, ...], names: dict[str, int]) -> Any:
    """What the call itself gives; the run is no argument of the caller's."""
    if function is told_first:
        return function(RUN, *args, **names)
    if function is told_between:
        (a, *rest) = args or (names.pop("a"),)
        return function(a, RUN, *rest, **names)
    return function(*args, **names)


@given(FUNCTIONS, NUMBERS, NAMES)
def test_a_call_through_the_payload_is_the_call_itself(
    function: Any, args: tuple[int, ...], names: dict[str, int]
) -> None:
    signature = TaskSignature(function)
    try:
        expected = direct(function, args, dict(names))
    except (TypeError, KeyError):
        with pytest.raises(TypeError):
            signature.payload(args, names)
        return
    payload = msgspec.json.encode(signature.payload(args, names))
    call = signature.call(payload, RUN)
    assert function(*call.args, **call.kwargs) == expected


@pytest.mark.parametrize(
    ("payload", "result"),
    [(b'{"a": 1}', (1, 2, 3)), (b"[1, 5]", (1, 5, 3)), (b'{"a": 1, "c": 0}', (1, 2, 0))],
)
def test_an_object_is_keyword_arguments_and_an_array_positional_ones(
    payload: bytes, result: tuple[int, ...]
) -> None:
    call = TaskSignature(plain).call(payload, RUN)
    assert plain(*call.args, **call.kwargs) == result


@pytest.mark.parametrize("payload", [None, b"null"])
def test_null_is_no_arguments(payload: bytes | None) -> None:
    assert TaskSignature(any_number).call(payload, RUN).args == ()


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        (b"null", "missing a required argument: 'a'"),
        (b'{"a": 1, "z": 2}', "unexpected keyword argument 'z'"),
        (b"[1, 2, 3]", "too many positional arguments"),
        (b'"text"', "the payload is a str: a task takes an object"),
        (b"{", "the payload is not JSON"),
    ],
)
def test_a_payload_that_does_not_fit_is_a_failure_for_good(payload: bytes, sentence: str) -> None:
    with pytest.raises(TaskFailed) as refused:
        TaskSignature(plain).call(payload, RUN)
    error = refused.value.error
    assert sentence in error.message
    assert (error.code, error.permanent) == ("invalid", True)


def test_the_payload_cannot_stand_in_for_the_run() -> None:
    with pytest.raises(TaskFailed, match="unexpected keyword argument 'run'"):
        TaskSignature(told_first).call(b'{"a": 1, "run": {}}', RUN)


def test_a_function_is_told_of_one_run_only() -> None:
    def twice(one: TaskContext, other: TaskContext) -> None: ...

    with pytest.raises(TypeError, match="one, other: one parameter may be a TaskContext"):
        TaskSignature(twice)
