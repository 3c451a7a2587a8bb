"""Sets of times of day, and sets of small numbers as bits."""

from collections.abc import Iterable, Iterator
from itertools import islice

ALL_HOURS = (1 << 24) - 1
ALL_SIXTY = (1 << 60) - 1


class Times:
    """All times with one of these hours, one of these minutes and one of these seconds.

    The three sets are bits, none is empty. A time is in seconds of the day.
    """

    __slots__ = ("hours", "minutes", "seconds")

    def __init__(self, hours: int, minutes: int, seconds: int) -> None:
        self.hours = hours
        self.minutes = minutes
        self.seconds = seconds

    @property
    def first(self) -> int:
        """The earliest."""
        return lowest(self.hours) * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.hours.bit_count() * self.minutes.bit_count() * self.seconds.bit_count()

    def at_or_after(self, time: int) -> int:
        """The smallest that is >= `time`, or -1."""
        hour = time // 3600
        if self.hours >> hour & 1:
            minute = time // 60 % 60
            rest = self.seconds >> time % 60
            if rest and self.minutes >> minute & 1:
                return time + lowest(rest)
            rest = self.minutes >> minute + 1
            if rest:
                return hour * 3600 + (minute + 1 + lowest(rest)) * 60 + lowest(self.seconds)
        rest = self.hours >> hour + 1
        if rest:
            hour += 1 + lowest(rest)
            return hour * 3600 + lowest(self.minutes) * 60 + lowest(self.seconds)
        return -1

    def rank(self, time: int) -> int:
        """How many are <= `time`, which may be -1."""
        hour, minute, second = time // 3600, time // 60 % 60, time % 60
        if time < 0:
            return 0
        seconds = below(self.seconds, second + 1) if self.minutes >> minute & 1 else 0
        in_hour = below(self.minutes, minute) * self.seconds.bit_count() + seconds
        in_hours = below(self.hours, hour) * self.minutes.bit_count() * self.seconds.bit_count()
        return in_hours + (in_hour if self.hours >> hour & 1 else 0)

    def select(self, place: int) -> int:
        """The one at a place from 0 on."""
        place, second = divmod(place, self.seconds.bit_count())
        hour, minute = divmod(place, self.minutes.bit_count())
        return (
            nth_of(self.hours, hour) * 3600
            + nth_of(self.minutes, minute) * 60
            + nth_of(self.seconds, second)
        )

    def runs(self) -> Iterator[tuple[int, int]]:
        """The stretches of times without a break, as (first, last), in order."""
        first = last = -2
        for hour in bits_of(self.hours):
            for minute in bits_of(self.minutes):
                start = hour * 3600 + minute * 60
                for low, high in bit_runs(self.seconds):
                    if start + low > last + 1:
                        if last >= 0:
                            yield first, last
                        first = start + low
                    last = start + high
        yield first, last

    def stretches(self, most: int) -> list[tuple[int, int]]:
        """The runs; or if they are more than `most`, those of all whole minutes, or of all whole
        hours, that have one of these times."""
        for times in (self, Times(self.hours, self.minutes, ALL_SIXTY)):
            runs = list(islice(times.runs(), most + 1))
            if len(runs) <= most:
                return runs
        return list(Times(self.hours, ALL_SIXTY, ALL_SIXTY).runs())


def lowest(bits: int) -> int:
    """The lowest number of a set; -1 if it is empty."""
    return (bits & -bits).bit_length() - 1


def below(bits: int, limit: int) -> int:
    """How many numbers of a set are < `limit`."""
    return (bits & (1 << limit) - 1).bit_count()


def bits_of(bits: int) -> Iterator[int]:
    """The numbers of a set in order."""
    while bits:
        yield lowest(bits)
        bits &= bits - 1


def nth_of(bits: int, place: int) -> int:
    """The number at a place, from 0, of a set in order."""
    for _ in range(place):
        bits &= bits - 1
    return lowest(bits)


def to_bits(numbers: Iterable[int]) -> int:
    """The set of these numbers."""
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


def bit_runs(bits: int) -> Iterator[tuple[int, int]]:
    """The stretches of a set without a break, as (first, last), in order."""
    while bits:
        low = lowest(bits)
        high = low + lowest(~(bits >> low)) - 1
        yield low, high
        bits = bits >> high + 1 << high + 1
