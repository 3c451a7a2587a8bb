"""Small words: lists, ordinals, names of months and weekdays, times."""

from collections.abc import Iterable

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def listed(words: Iterable[str], conjunction: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def ordinal(number: int) -> str:
    """`first` to `fifth`, then `6th`, `21st`."""
    if number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    return numeral(number)


def numeral(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`."""
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number // 10 % 10 != 1 else 0, "th")
    return f"{number}{suffix}"


def place(number: int) -> str:
    """A position from the start, or from the end if negative: `third`, `last`, `second to last`."""
    if number > 0:
        return ordinal(number)
    return "last" if number == -1 else f"{ordinal(-number)} to last"


def counted(number: int, unit: str) -> str:
    """`1 day`, `2 days`."""
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def every(number: int, unit: str) -> str:
    """`every day`, `every 2 days`."""
    return f"every {unit}" if number == 1 else f"every {number} {unit}s"


def clock(time: int) -> str:
    """A time of day in seconds as `07:00` or `07:00:30`."""
    text = f"{time // 3600:02}:{time // 60 % 60:02}"
    return f"{text}:{time % 60:02}" if time % 60 else text


def duration(milliseconds: int) -> str:
    """`1 hour 30 minutes`."""
    rest, words = milliseconds // 1000, []
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)):
        number, rest = divmod(rest, size)
        if number:
            words.append(counted(number, unit))
    return " ".join(words)
