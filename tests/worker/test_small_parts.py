"""Slots, limits, cancels, colleagues."""

import gc
from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.support import HOUR_MS, NOW, ManualTimers
from tocsin.model.runs import Cancel, Error, ErrorCode, Worker
from tocsin_worker.cancels import RETENTION_MS, CancelBook
from tocsin_worker.limits import ERROR_BYTES, RESULT_BYTES, bounded_error, bounded_result
from tocsin_worker.report import FRESH_MS, Colleagues
from tocsin_worker.slots import HAND_ON_AFTER_MS, TICK_MS, Slots


def turned_over(slots: Slots, timers: ManualTimers, *, every_ms: int, for_ms: int) -> None:
    """Each slot that is given back is taken again at once."""
    for now in range(1, for_ms + 1):
        timers.advance(1)
        if now % every_ms == 0:
            slots.give_back()
            slots.take()
            slots.offered()
        if now % TICK_MS == 0:
            slots.tick()


def full_slots(size: int, timers: ManualTimers) -> Slots:
    slots = Slots(size, timers)
    for _ in range(size):
        slots.take()
    slots.offered()
    return slots


def test_slots_know_for_how_long_none_has_been_left_over() -> None:
    timers = ManualTimers()
    slots = Slots(2, timers)
    slots.take()
    timers.advance(1_000)
    assert (slots.free, slots.full_ms) == (1, 0)
    slots.take()
    timers.advance(500)
    slots.give_back()
    slots.take()
    slots.offered()
    assert (slots.free, slots.full_ms) == (0, 500), "somebody waited for that slot"
    with pytest.raises(RuntimeError):
        slots.take()
    slots.give_back()
    slots.offered()
    assert slots.full_ms == 0


def test_slots_that_are_held_for_long_give_way_whatever_waits() -> None:
    timers = ManualTimers()
    slots = full_slots(8, timers)
    turned_over(slots, timers, every_ms=HOUR_MS, for_ms=HAND_ON_AFTER_MS - 1)
    assert not slots.gives_way(1_000)
    turned_over(slots, timers, every_ms=HOUR_MS, for_ms=TICK_MS)
    assert slots.gives_way(0)


@pytest.mark.parametrize("handler_ms", [2_000, 10_000, 60_000])
def test_slots_that_turn_over_slowly_give_way_until_one_is_left_over(handler_ms: int) -> None:
    timers = ManualTimers()
    slots = full_slots(8, timers)
    turned_over(slots, timers, every_ms=handler_ms // 8, for_ms=4_000)
    assert slots.gives_way(100)
    assert slots.gives_way(0), "what is still to be read goes the same way"
    slots.give_back()
    slots.offered()
    assert not slots.gives_way(100)


def test_slots_that_turn_over_slowly_keep_what_has_its_turn_soon() -> None:
    timers = ManualTimers()
    slots = full_slots(8, timers)
    turned_over(slots, timers, every_ms=250, for_ms=4_000)
    assert not slots.gives_way(3)


@pytest.mark.parametrize("every_ms", [1, 4, 25])
def test_slots_that_turn_over_fast_keep_what_waits(every_ms: int) -> None:
    timers = ManualTimers()
    slots = full_slots(8, timers)
    for _ in range(20):
        turned_over(slots, timers, every_ms=every_ms, for_ms=1_000)
        assert not slots.gives_way(2_048)


@given(st.text(max_size=20_000))
def test_an_error_message_fits_and_is_text(text: str) -> None:
    message = bounded_error(Error(code="exception", message=text)).message
    assert len(message.encode()) <= ERROR_BYTES
    if len(text.encode()) <= ERROR_BYTES:
        assert message == text


def test_an_error_code_that_is_none_is_told_in_the_message() -> None:
    error = bounded_error(Error(code=cast("ErrorCode", "on_fire"), message="hot", permanent=True))
    assert error == Error(code="exception", message="on_fire: hot", permanent=True)


def test_a_message_that_is_no_text_is_escaped() -> None:
    error = bounded_error(Error(code="exception", message="a\ud800b"))
    assert error.message == "a\\ud800b"


@given(st.binary(max_size=64) | st.integers(RESULT_BYTES - 1, RESULT_BYTES + 1).map(bytes))
def test_a_result_over_the_limit_is_replaced_by_json_that_says_so(result: bytes) -> None:
    kept = bounded_result(result)
    assert kept is not None
    if len(result) <= RESULT_BYTES:
        assert kept == result
    else:
        stands_for_it = msgspec.json.decode(kept)
        assert (stands_for_it["truncated"], stands_for_it["bytes"]) == (True, len(result))
        assert len(kept) <= RESULT_BYTES


@given(
    st.lists(
        st.tuples(
            st.sampled_from("rs"), st.integers(1, 4), st.sampled_from([None, "me", "another"])
        )
    ),
    st.sampled_from("rs"),
    st.integers(1, 5),
)
def test_a_cancel_for_all_workers_covers_all_attempts_up_to_the_one_it_names(
    cancels: list[tuple[str, int, str | None]], run_id: str, attempt: int
) -> None:
    book = CancelBook("me")
    for run, highest, worker in cancels:
        book.add(Cancel(run_id=run, attempt=highest, worker=worker), NOW)
    assert book.covers(run_id, attempt) == any(
        run == run_id and attempt <= highest and worker is None for run, highest, worker in cancels
    )


def test_cancels_are_kept_as_long_as_a_run_can_wait() -> None:
    book = CancelBook("me")
    book.add(Cancel(run_id="r", attempt=1), NOW)
    book.forget(NOW + RETENTION_MS)
    assert book.covers("r", 1)
    book.forget(NOW + RETENTION_MS + 1)
    assert len(book) == 0


def a_report(worker: str, **fields: object) -> Worker:
    report = Worker(
        worker=worker,
        pool="default",
        handlers=["http", "noop"],
        slots=8,
        free=1,
        partitions=[],
        time=NOW,
    )
    return msgspec.structs.replace(report, **fields)


def colleagues(timers: ManualTimers, *reports: Worker) -> Colleagues:
    known = Colleagues("me", "default", ["noop", "http"], timers)
    for report in reports:
        known.heard(report)
    return known


def test_a_colleague_with_a_free_slot_and_the_same_handlers_could_take_runs() -> None:
    assert colleagues(ManualTimers(), a_report("other")).could_take()


@pytest.mark.parametrize(
    "report",
    [
        a_report("me"),
        a_report("other", free=0),
        a_report("other", pool="another"),
        a_report("other", handlers=["noop"]),
    ],
)
def test_nobody_else_could(report: Worker) -> None:
    assert not colleagues(ManualTimers(), report).could_take()


def test_an_old_report_is_not_believed() -> None:
    timers = ManualTimers()
    known = colleagues(timers, a_report("other"))
    timers.advance(FRESH_MS)
    assert not known.could_take()


def test_the_latest_report_counts() -> None:
    known = colleagues(ManualTimers(), a_report("other"), a_report("other", free=0))
    assert not known.could_take()


def test_of_colleagues_that_are_silent_nothing_is_kept() -> None:
    """Each restart is a colleague of another name."""

    def reports() -> int:
        return sum(isinstance(each, Worker) for each in gc.get_objects())

    timers = ManualTimers()
    known, before = colleagues(timers), reports()
    for number in range(20):
        known.heard(a_report(f"other-{number}"))
        timers.advance(FRESH_MS)
    assert reports() <= before + 1
