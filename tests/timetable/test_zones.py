"""Zones as spans, against the tz database's own files and the standard library."""

import struct
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from zoneinfo import TZPATH

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timetable.oracle import zone as zoneinfo_of
from tests.timetable.strategies import Moment, moments, zones
from tocsin.timetable import TZDATA_VERSION, zone_names
from tocsin.timetable.instants import DAY, EPOCH
from tocsin.timetable.zones import CYCLE, ERA, LATE, PROBE, Span, zone_of


def listed_changes(name: str) -> list[tuple[int, int, int]]:
    """(instant, old offset, new offset) of each change that the zone's file lists (RFC 9636)."""
    data = files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    skip = _block_size(data, 0, 4)
    times, types = struct.unpack_from(">2l", data, skip + 32)
    start = skip + 44
    instants = struct.unpack_from(f">{times}q", data, start)
    indices = struct.unpack_from(f">{times}B", data, start + 8 * times)
    offsets = [struct.unpack_from(">l", data, start + 9 * times + 6 * n)[0] for n in range(types)]
    sequence = [offsets[0], *(offsets[n] for n in indices)]
    changes = zip(instants, pairwise(sequence), strict=True)
    return [(instant, old, new) for instant, (old, new) in changes if old != new]


def _block_size(data: bytes, start: int, size: int) -> int:
    counts: tuple[int, ...] = struct.unpack_from(">6l", data, start + 20)
    isut, isstd, leap, times, types, chars = counts
    return 44 + times * (size + 1) + types * 6 + chars + leap * (size + 4) + isstd + isut


def spans(name: str, start: int, end: int) -> list[Span]:
    found = [zone_of(name).span(start)]
    while found[-1].end < end:
        found.append(zone_of(name).span(found[-1].end))
    for earlier, later in pairwise(found):
        assert (earlier.offset, earlier.after) == (later.before, later.offset), (name, later)
    return found


@cache
def changes(name: str, start: int, end: int) -> list[tuple[int, int, int]]:
    found = [s for s in spans(name, start, end) if s.before != s.offset and start < s.start < end]
    return [(s.start, s.before, s.offset) for s in found]


@pytest.mark.parametrize("half", [0, 1])
def test_spans_begin_and_end_at_the_changes_that_the_files_list(half: int) -> None:
    for name in sorted(zone_names())[half::2]:
        listed = [change for change in listed_changes(name) if change[0] > 0]
        last = max((change[0] for change in listed), default=0)
        assert changes(name, 0, last + 1) == listed, name


def test_no_two_changes_are_so_near_that_a_probe_could_miss_them() -> None:
    for name in zone_names():
        instants = [instant for instant, _, _ in listed_changes(name) if instant > 0]
        gaps = [later - earlier for earlier, later in pairwise(instants)]
        assert min(gaps, default=DAY * 365) > PROBE + 2 * DAY, name


def test_from_2100_on_each_zone_has_one_yearly_rule() -> None:
    assert all(instant < LATE for name in zone_names() for instant, _, _ in listed_changes(name))


@settings(max_examples=40, deadline=None)
@given(zones, st.integers(2040, 9000))
def test_a_late_year_changes_as_the_standard_library_says(name: str, year: int) -> None:
    start = int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
    days = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(366)]
    offsets = [day.astimezone(zoneinfo_of(name)).utcoffset() for day in days]
    expected = sum(old != new for old, new in pairwise(offsets))
    assert len(changes(name, start, start + 365 * DAY)) == expected


@settings(max_examples=200, deadline=None)
@given(moments(200, 200), st.integers(-90, 90), st.integers(0, 18))
def test_an_instant_has_the_offset_that_the_standard_library_gives_it(
    moment: Moment, seconds: int, cycles: int
) -> None:
    instant = moment.instant + timedelta(seconds=seconds)
    at = (instant - EPOCH) // timedelta(seconds=1)
    span = zone_of(moment.zone).span(at)
    assert span.start <= at < span.end
    expected = instant.astimezone(zoneinfo_of(moment.zone)).utcoffset()
    assert timedelta(seconds=span.offset) == expected
    if at >= LATE:
        far = zone_of(moment.zone).span(at + cycles * CYCLE)
        assert (far.offset, far.start - span.start) == (span.offset, cycles * CYCLE)


@settings(max_examples=300, deadline=None)
@given(zones, st.integers(1, 225), st.integers(-4 * DAY, 4 * DAY))
def test_where_spans_are_found_in_pieces_the_pieces_agree(
    name: str, era: int, seconds: int
) -> None:
    at = era * ERA + seconds
    expected = (EPOCH + timedelta(seconds=at)).astimezone(zoneinfo_of(name)).utcoffset()
    span = zone_of(name).span(at)
    assert timedelta(seconds=span.offset) == expected
    assert zone_of(name).span(span.start - 1).after == span.offset


def test_only_the_pinned_package_decides_which_names_there_are() -> None:
    names = zone_names()
    assert {"Europe/Berlin", "US/Eastern", "EST", "Etc/GMT-2", "UTC"} <= names
    assert not {"localtime", "posixrules", "Europe/berlin", "utc", "UTC+2", "PST", ""} & names
    for path in map(Path, TZPATH):
        assert path.is_absolute()  # the process-wide search path is as it was
    assert TZDATA_VERSION[:4].isdecimal()
    assert TZDATA_VERSION[4:].isalpha()


def test_an_unknown_zone_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        zone_of("../etc/localtime")
