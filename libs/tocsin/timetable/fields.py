"""One field of a cron expression: text to bits, value n as bit n."""

import re
from typing import Final

_ITEM = re.compile(
    r"(\*|[0-9]{1,2}|[A-Za-z]{3})(?:-([0-9]{1,2}|[A-Za-z]{3}))?(?:/([0-9]{1,2}))?",
)
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class WrongItem(Exception):
    """An item of a field's list that is not valid, and why."""

    def __init__(self, field: "Field", item: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.item = item
        self.reason = reason
        self.offset = 0
        """Where in the field's text the item begins."""


class Field:
    """The rules of one field: its values, its names, and how a list of items becomes bits."""

    def __init__(self, keyword: str, low: int, high: int, names: tuple[str, ...] = ()) -> None:
        self.keyword: Final = keyword
        self.low: Final = low
        self.high: Final = high
        self.size: Final = high - low + 1
        self.names: Final = names
        self._values: Final = self._spellings()
        # The commonest lists have one item, and these are known beforehand.
        self.known: Final = {text: 1 << value for text, value in self._values.items()}
        self.known["*"] = _every(low, high, 1)
        for step in range(1, self.size + 1):
            self.known[f"*/{step}"] = _every(low, high, step)

    def parse(self, text: str) -> int:
        """The values of a comma-separated list; WrongItem for the first item that is wrong."""
        return self.known.get(text) or self._list(text)

    def value(self, text: str) -> int | None:
        """The value of a number or a name of this field, or None."""
        found = self._values.get(text)
        return self._values.get(text.upper()) if found is None and text.isascii() else found

    def wrong(self, item: str, reason: str = "") -> WrongItem:
        """The error for an item; without a reason, with a hint at what was meant."""
        return WrongItem(self, item, reason or self._hint(item) or self._allowed())

    def _list(self, text: str) -> int:
        items = text.split(",")
        if self.known.keys() >= set(items):
            bits = 0
            for item in items:
                bits |= self.known[item]
            return bits
        return self._read_items(items)

    def _read_items(self, items: list[str]) -> int:
        bits = offset = 0
        for item in items:
            try:
                bits |= self._item(item)
            except WrongItem as wrong:
                wrong.offset = offset
                raise
            offset += len(item) + 1
        return bits

    def _item(self, item: str) -> int:
        """The values of one item: `*`, `a` or `a-b`, each with an optional `/step`."""
        bits = self.known.get(item)
        if bits is not None:
            return bits
        match = _ITEM.fullmatch(item)
        if match is None:
            raise self.wrong(item)
        first, last, step_text = match.groups()
        step = 1 if step_text is None else int(step_text)
        if not 1 <= step <= self.size:
            raise self.wrong(item, f"a step here is 1 to {self.size}")
        if first == "*":
            first, last = str(self.low), str(self.high) if last is None else "*"
        elif last is None:
            last = str(self.high) if step_text else first
        return self._range(item, first, last, step)

    def _range(self, item: str, first: str, last: str, step: int) -> int:
        start, end = self.value(first), self.value(last)
        if start is None or end is None:
            raise self.wrong(item)
        return self._ring(_every(start, end if start <= end else end + self.size, step))

    def _ring(self, bits: int) -> int:
        """Values past the end of the field come round at its beginning."""
        return (bits | bits >> self.size) & self.known["*"]

    def _spellings(self) -> dict[str, int]:
        numbers = range(self.low, self.high + 1)
        values = {str(n): n for n in numbers} | {f"{n:02}": n for n in numbers}
        return values | {name: self.low + i for i, name in enumerate(self.names)}

    def _allowed(self) -> str:
        names = f" or {self.names[0]}-{self.names[-1]}" if self.names else ""
        return f"allowed are {self.low}-{self.high}{names}, *, a-b and /step, in a list with commas"

    def _hint(self, item: str) -> str:
        upper = item.upper()
        if not item:
            return "remove the comma that is too many"
        if (upper[0] in "HR" and (len(upper) == 1 or upper[1] in "(/")) or "~" in upper:
            return "there are no random or hashed values; choose one, and use jitter to spread jobs"
        if upper.startswith(("TZ=", "CRON_TZ=")):
            return "the time zone is not part of the expression; set the option timezone"
        if item == str(self.size) and self.low == 0:
            return f"values end at {self.high}, and the {item}th is the next 0"
        if len(upper) > 3 and upper[:3] in self.names and upper.isalpha():
            return f"names have three letters: {upper[:3]}"
        return ""


class DayOfWeek(Field):
    """0-7, where 7 is Sunday like 0; as the end of a range it is the day after Saturday."""

    _SUNDAY = ("7", "07")

    def __init__(self) -> None:
        super().__init__("day-of-week", 0, 6, _WEEKDAYS)

    def _spellings(self) -> dict[str, int]:
        return super()._spellings() | dict.fromkeys(self._SUNDAY, 0)

    def _range(self, item: str, first: str, last: str, step: int) -> int:
        start = self.value(first)
        if last not in self._SUNDAY or first in self._SUNDAY or start is None:
            return super()._range(item, first, last, step)
        return self._ring(_every(start, 7, step))


def _every(first: int, last: int, step: int) -> int:
    if step == 1:
        return (1 << last + 1) - (1 << first)
    bits = 0
    for value in range(first, last + 1, step):
        bits |= 1 << value
    return bits


SECOND = Field("second", 0, 59)
MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY_OF_MONTH = Field("day-of-month", 1, 31)
MONTH = Field("month", 1, 12, _MONTHS)
DAY_OF_WEEK = DayOfWeek()
