"""Durations, instants and jitter: text and numbers with exact meanings."""

from datetime import UTC, datetime, timedelta
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.timetable import due_ms, format_duration, jitter_offset_ms, parse_duration_ms
from tocsin.timetable.instants import (
    LAST_MS,
    format_instant,
    format_reading,
    parse_instant,
    to_datetime,
    to_ms,
)

DAY_MS = 86_400_000


@given(st.integers(1, 36_500 * 86_400))
def test_a_duration_reads_back_as_it_was_written(seconds: int) -> None:
    assert parse_duration_ms(format_duration(seconds * 1000)) == seconds * 1000
    assert parse_duration_ms(seconds) == parse_duration_ms(float(seconds)) == seconds * 1000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("P2W", 14 * DAY_MS),
        ("P1DT12H30M5S", 131_405_000),
        ("PT90M", 5_400_000),
        ("PT001S", 1000),
        ("P36500D", 36_500 * DAY_MS),
    ],
)
def test_iso_durations_have_exact_lengths(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "PT0S"),
        (250, "PT0.250S"),
        (90_000, "PT1M30S"),
        (7 * DAY_MS, "P7D"),
        (DAY_MS + 60_000, "P1DT1M"),
    ],
)
def test_durations_are_shown_as_iso(milliseconds: int, text: str) -> None:
    assert format_duration(milliseconds) == text


@pytest.mark.parametrize(
    "value",
    ["", "P", "PT", "P1DT", "p1d", "pt5m", "P1W2D", "P1Y", "P1M", "PT1.5S", "PT1H30", "+PT1S", "5m",
     "PT٣S", " PT1S", "PT1S\n", "P1D1W", "PT5S3M", True, None, [], float("nan"), float("inf"), 1.5],
)  # fmt: skip
def test_what_is_no_duration_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"duration|fraction"):
        parse_duration_ms(value)


def test_the_bounds_of_a_duration_are_the_caller_s() -> None:
    assert parse_duration_ms(0, minimum_ms=0) == parse_duration_ms("PT0S", minimum_ms=0) == 0
    assert parse_duration_ms("P1D", maximum_ms=DAY_MS) == DAY_MS
    with pytest.raises(ValueError, match="least is PT1S"):
        parse_duration_ms(0)
    with pytest.raises(ValueError, match="most is P1D"):
        parse_duration_ms("PT24H1S", maximum_ms=DAY_MS)


@given(st.integers(0, LAST_MS + 999))
def test_an_instant_reads_back_as_it_was_written(instant_ms: int) -> None:
    text = format_instant(instant_ms)
    assert parse_instant(text) == instant_ms
    assert to_ms(datetime.fromisoformat(text)) == instant_ms
    assert to_ms(to_datetime(instant_ms)) == instant_ms


@given(st.datetimes(datetime(1970, 1, 2), datetime(9999, 12, 30)), st.integers(-1439, 1439))  # noqa: DTZ001
def test_offsets_are_those_of_the_standard_library(reading: datetime, minutes: int) -> None:
    sign, size = ("-", -minutes) if minutes < 0 else ("+", minutes)
    text = f"{reading.isoformat()}{sign}{size // 60:02}:{size % 60:02}"
    if reading.microsecond:
        text = text.replace(reading.isoformat(), reading.isoformat(timespec="microseconds"))
    expected = (reading.replace(tzinfo=UTC) - timedelta(minutes=minutes)).timestamp()
    assert parse_instant(text) == to_ms(datetime.fromisoformat(text))
    assert abs(parse_instant(text) / 1000 - expected) < 0.002


@pytest.mark.parametrize(
    "text",
    [
        "2026-05-01", "2026-05-01 12:00:00Z", "2026-05-01T12:00Z", "2026-05-01T12:00:00",
        "2026-05-01T12:00:00.Z", "2026-05-01T12:00:00.1234567890Z", "2026-05-01T12:00:00+0200",
        "2026-05-01T12:00:00+02", "2026-05-01T12:00:00+24:00", "2026-05-01T12:00:00+01:60",
        "2026-05-01T24:00:00Z", "2026-05-01T23:59:60Z", "2026-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "1970-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2026-05-01T12:00:00Z ",
        "2026-05-01T12:00:00Z\n", "٢٠٢٦-05-01T12:00:00Z", "12026-05-01T12:00:00Z",
        "2026-5-1T12:00:00Z",
        "2026-W18-5T12:00:00Z", "2026-05-01T12:00:00,5Z", "2026-05-01T12:00:00\u221202:00",
    ],
)  # fmt: skip
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_instant(text)


def test_fractions_are_cut_to_milliseconds() -> None:
    assert parse_instant("2026-05-01T12:00:00.9999Z") % 1000 == 999
    assert parse_instant("2026-05-01T12:00:00.1Z") % 1000 == 100
    assert parse_instant("2026-05-01t12:00:00.000000001z") % 1000 == 0


def test_a_naive_datetime_is_no_instant() -> None:
    with pytest.raises(ValueError, match="aware"):
        to_ms(datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_reading_may_lie_past_the_year_9999() -> None:
    assert format_reading(LAST_MS + 9 * 3_600_000) == "10000-01-01T08:59:59"


@given(st.text("aZ9/._-é漢", max_size=30), st.integers(1, DAY_MS))
def test_jitter_is_a_stable_hash_of_the_key(key: str, jitter_ms: int) -> None:
    digest = blake2b(key.encode("utf-8"), digest_size=8).hexdigest()
    offset = jitter_offset_ms(key, jitter_ms)
    assert offset == int(digest, 16) % jitter_ms
    assert 0 <= offset < jitter_ms


def test_jitter_never_changes_for_a_job() -> None:
    assert jitter_offset_ms("default/hello", 0) == 0
    assert jitter_offset_ms("default/hello", 30_000) == 15_755


@given(st.integers(0, 10**12), st.none() | st.integers(1, 10**9), st.integers(0, DAY_MS))
def test_an_occurrence_is_due_before_the_next_one(
    nominal: int, gap: int | None, offset: int
) -> None:
    following = None if gap is None else nominal + gap
    due = due_ms(nominal, following, offset)
    assert nominal <= due <= nominal + offset
    assert following is None or due < following
    assert due == nominal + offset or due == nominal + (gap or 0) - 1
