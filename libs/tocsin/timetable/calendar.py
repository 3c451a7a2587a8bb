"""The 400-year cycle of the calendar as tables of months, for searches by arithmetic.

Days are counted from 1970-01-01 (a Thursday). A cycle is 4800 months, from January 2000 on.
"""

from datetime import date
from itertools import accumulate, chain

from tocsin.timetable.instants import EPOCH_ORDINAL

CYCLE_DAYS = 146_097
CYCLE_MONTHS = 4800
CYCLE_ORDINAL = date(2000, 1, 1).toordinal()
CYCLE_DAY = CYCLE_ORDINAL - EPOCH_ORDINAL
"""2000-01-01, the first day of a cycle, as a day number."""

ALL_MONTHS = (1 << 13) - 2
"""As bits, January as 1."""
ALL_WEEKDAYS = (1 << 7) - 1
"""As bits, whichever of them is 0."""

_FIVE_WEEKS = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year: int) -> bool:
    """Whether February has 29 days, in the Gregorian calendar."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_lengths(year: int) -> tuple[int, ...]:
    """The days of each month, January first."""
    return (31, 29, *_LENGTHS[2:]) if is_leap(year) else _LENGTHS


def weekday_dates(weekdays: int, first: int) -> int:
    """The dates 1 to 35 with one of these weekdays (bits, 0 = Sunday), in a month whose first day
    is the weekday `first`; day n as bit n."""
    week = (weekdays >> first | weekdays << 7 - first) & 127
    return week * _FIVE_WEEKS << 1


def month_length(month: int) -> int:
    """The number of days of a month of the cycle."""
    return MONTH_START[month + 1] - MONTH_START[month]


def _month_starts() -> tuple[int, ...]:
    lengths = chain.from_iterable(month_lengths(year) for year in range(2000, 2400))
    return tuple(accumulate(lengths, initial=0))


MONTH_START = _month_starts()
"""The first day of each month of a cycle, counted from the cycle's first; its last item is the
first day of the next cycle."""

MONTH_SHAPE = tuple(
    (MONTH_START[i + 1] - MONTH_START[i] - 28) * 7 + (MONTH_START[i] + 6) % 7
    for i in range(CYCLE_MONTHS)
)
"""The shape of each month of a cycle: 7 * (its length - 28) + the weekday of its first day, where
0 is Sunday. (2000-01-01 was a Saturday.) There are 28 shapes."""

SHAPES_OF_MONTH = tuple(
    tuple(sorted({MONTH_SHAPE[i] for i in range(month - 1, CYCLE_MONTHS, 12)})) if month else ()
    for month in range(13)
)
"""The shapes that each month, 1 to 12, takes in a cycle."""
