"""When a failed attempt is followed by the next."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.backoff import retry_delay_ms
from tocsin.model.jobs import Retry

attempts = st.integers(1, 10_000)
run_ids = st.text(max_size=30)
retries = st.builds(
    Retry,
    initial_ms=st.integers(0, 10**12),
    multiplier=st.floats(1, 1000),
    max_ms=st.integers(0, 3_153_600_000_000),
    jitter=st.sampled_from(["full", "none"]),
)


@given(retries, attempts)
def test_without_jitter_the_delay_is_the_power_up_to_the_maximum(
    retry: Retry, attempt: int
) -> None:
    delay = retry_delay_ms(_plain(retry), attempt, "run")
    exponent = min(attempt - 1, 60 if retry.multiplier >= 2 else 200)
    power = Fraction(retry.multiplier) ** exponent * retry.initial_ms
    if exponent == attempt - 1 or power >= retry.max_ms:
        exact = min(int(power), retry.max_ms)
        assert delay == pytest.approx(exact, rel=1e-9, abs=1)


@given(retries, attempts)
def test_delays_never_shrink_and_never_pass_the_maximum(retry: Retry, attempt: int) -> None:
    plain = _plain(retry)
    now, later = (retry_delay_ms(plain, number, "run") for number in (attempt, attempt + 1))
    assert 0 <= now <= later <= retry.max_ms


@given(retries, attempts, run_ids)
def test_full_jitter_lies_between_nothing_and_the_whole_delay(
    retry: Retry, attempt: int, run_id: str
) -> None:
    assert 0 <= retry_delay_ms(retry, attempt, run_id) <= retry_delay_ms(_plain(retry), attempt, "")


@given(retries, attempts, run_ids, st.integers(0, 10**13))
def test_what_the_target_asks_for_is_waited_up_to_the_maximum(
    retry: Retry, attempt: int, run_id: str, asked_ms: int
) -> None:
    alone = retry_delay_ms(retry, attempt, run_id)
    delay = retry_delay_ms(retry, attempt, run_id, retry_after_ms=asked_ms)
    assert delay == max(alone, min(asked_ms, retry.max_ms))


@pytest.mark.parametrize("attempt", [40, 1_100, 10_000])
@pytest.mark.parametrize("multiplier", [1.0000000000000002, 1.5, 3.0, 1000.0])
def test_b112_no_number_of_attempts_overflows(attempt: int, multiplier: float) -> None:
    retry = Retry(initial_ms=1, multiplier=multiplier, max_ms=3_153_600_000_000, jitter="none")
    assert 1 <= retry_delay_ms(retry, attempt, "run") <= retry.max_ms


def test_the_defaults_wait_10_s_30_s_90_s_and_at_most_an_hour() -> None:
    retry = Retry(jitter="none")
    delays = [retry_delay_ms(retry, attempt, "run") for attempt in range(1, 9)]
    assert delays == [10_000, 30_000, 90_000, 270_000, 810_000, 2_430_000, 3_600_000, 3_600_000]


def test_jitter_is_drawn_from_run_and_attempt_alone_and_spreads_evenly() -> None:
    retry = Retry(initial_ms=1_000, multiplier=1, max_ms=1_000)
    delays = [retry_delay_ms(retry, 1, f"run-{number}") for number in range(4_000)]
    assert delays == [retry_delay_ms(retry, 1, f"run-{number}") for number in range(4_000)]
    for quarter in range(4):
        within = sum(quarter * 250 <= delay < (quarter + 1) * 250 for delay in delays)
        assert within == pytest.approx(1_000, rel=0.15)
    assert len({retry_delay_ms(retry, attempt, "run") for attempt in range(1, 20)}) > 10


def test_one_run_s_delay_is_the_same_in_every_release() -> None:
    assert retry_delay_ms(Retry(), 3, "default.hello.20260101T000000.000Z") == 77_166


def _plain(retry: Retry) -> Retry:
    return Retry(
        initial_ms=retry.initial_ms,
        multiplier=retry.multiplier,
        max_ms=retry.max_ms,
        jitter="none",
    )
