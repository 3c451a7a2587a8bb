"""Candidates a fixed step apart, against weekdays and times that are kept: by arithmetic, since to
walk from one to the next could take centuries."""

from functools import cached_property
from math import gcd

from tocsin.timetable.instants import DAY
from tocsin.timetable.times import Times, bit_runs, bits_of

WEEK = 7 * DAY

_MOST_STRETCHES = 100
"""Times in more stretches than these are rounded up to whole minutes or hours."""


class Leaps:
    """A step in seconds, and the readings that count: those with one of these weekdays and one of
    these times. Weekdays are bits, 0 = Thursday, as 1970-01-01 was one."""

    def __init__(self, step: int, weekdays: int, times: Times) -> None:
        self._step = step
        self._divisor = gcd(step, WEEK)
        self._weekdays = weekdays
        self._times = times
        self._met: dict[int, bool] = {}

    def can_meet(self, reading: int) -> bool:
        """Whether any of the readings that lie a multiple of the step from this one counts."""
        residue = reading % self._divisor
        met = self._met.get(residue)
        if met is None:
            met = self._met[residue] = self._meets(residue)
        return met

    def ahead(self, reading: int) -> int:
        """A reading, some steps from this one or itself, before which none counts; only for
        readings that `can_meet`."""
        for modulus, stretches in self._cycles:
            hits = (
                first_hit(reading % modulus, self._step, modulus, low, high)
                for low, high in stretches
            )
            reading += self._step * min(hit for hit in hits if hit is not None)
        return reading

    def _meets(self, residue: int) -> bool:
        # What counts is a sum of a day, an hour, a minute and a second.
        divisor = self._divisor
        hours = {
            (day * DAY + hour * 3600) % divisor
            for day in bits_of(self._weekdays)
            for hour in bits_of(self._times.hours)
        }
        minutes = {minute * 60 % divisor for minute in bits_of(self._times.minutes)}
        seconds = {second % divisor for second in bits_of(self._times.seconds)}
        return any((residue - h - m) % divisor in seconds for h in hours for m in minutes)

    @cached_property
    def _cycles(self) -> tuple[tuple[int, list[tuple[int, int]]], ...]:
        days = [(low * DAY, high * DAY + DAY - 1) for low, high in bit_runs(self._weekdays)]
        return (WEEK, days), (DAY, self._times.stretches(_MOST_STRETCHES))


def first_hit(start: int, step: int, modulus: int, low: int, high: int) -> int | None:
    """The smallest k >= 0 with low <= (start + k * step) % modulus <= high, or None.

    0 <= low <= high < modulus. It takes as many rounds as Euclid's algorithm.
    """
    low, high = (low - start) % modulus, (high - start) % modulus
    return 0 if low > high else _first_multiple(step % modulus, modulus, low, high)


def _first_multiple(step: int, modulus: int, low: int, high: int) -> int | None:
    # If no multiple of `step` lies in low..high, one must after some rounds of the modulus; how
    # many is the same question with the smaller modulus `step`.
    if low == 0:
        return 0
    if step == 0:
        return None
    multiple = -(-low // step)
    if multiple * step <= high:
        return multiple
    rounds = _first_multiple(modulus % step, step, -high % step, -low % step)
    return None if rounds is None else -(-(low + modulus * rounds) // step)
