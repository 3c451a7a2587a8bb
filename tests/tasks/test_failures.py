"""What history keeps of a task's exception."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tasks import sample
from tests.tasks.test_arguments import RUN
from tocsin.model.runs import Error
from tocsin.tasks import RetryAfter
from tocsin.tasks.failures import HEAD_CHARS, TRACEBACK_CHARS, TaskFailed, describe
from tocsin.tasks.performing import perform

SLACK = 100


def failure(name: str, payload: bytes | None = None) -> Error:
    with pytest.raises(TaskFailed) as failed:
        perform(getattr(sample, name), payload, RUN)
    return failed.value.error


def test_the_first_line_says_what_was_raised_and_the_traceback_where() -> None:
    error = failure("fail", b'["luck"]')
    assert (error.code, error.permanent, error.retry_after_ms) == ("exception", False, None)
    first, *_ = error.message.splitlines()
    assert first == "RuntimeError: no luck"
    assert "LookupError: luck" in error.message
    assert 'raise RuntimeError(f"no {what}") from error' in error.message


def test_the_frames_of_tocsin_are_left_out() -> None:
    assert "performing.py" not in failure("fail", b'["luck"]').message


@pytest.mark.parametrize("payload", [b'["luck", 400]', b'["%s"]' % (b"x" * 100_000)])
def test_a_long_traceback_is_bounded_and_keeps_its_beginning_and_its_end(payload: bytes) -> None:
    message = failure("fail", payload).message
    assert len(message) <= HEAD_CHARS + TRACEBACK_CHARS + SLACK
    assert "Traceback (most recent call last)" in message


@given(st.text())
def test_every_message_can_be_told(text: str) -> None:
    assert describe(ValueError(text)).startswith("ValueError")


def test_giving_up_ends_the_attempts() -> None:
    error = failure("give_up")
    assert error.permanent
    assert "there is no such account" in error.message


def test_a_task_may_ask_for_a_later_attempt() -> None:
    error = failure("come_back")
    assert (error.retry_after_ms, error.permanent) == (300_000, False)
    assert "the ledger is closed" in error.message


@pytest.mark.parametrize("delay", ["90s", 90, 90.0, timedelta(seconds=90)])
def test_a_delay_is_written_in_every_form(delay: str | float | timedelta) -> None:
    assert RetryAfter(delay).delay_ms == 90_000


@pytest.mark.parametrize("delay", ["soon", -1, timedelta(seconds=-1)])
def test_what_is_no_delay_is_refused(delay: str | float | timedelta) -> None:
    with pytest.raises(ValueError):
        RetryAfter(delay)


def test_leaving_the_program_is_a_failure_of_the_task() -> None:
    assert failure("leave").message.startswith("SystemExit: 3")


def test_a_result_that_is_not_json_is_not_tried_again() -> None:
    error = failure("give_an_object")
    assert (error.code, error.permanent) == ("invalid", True)
    assert "the task has returned what is not JSON" in error.message
