"""Parameters of the query, read strictly: an unknown one is refused, not ignored."""

import difflib
from collections.abc import Callable, Sequence
from typing import TypeVar

from fastapi import Request

from tocsin.timetable.durations import parse_duration_ms
from tocsin.timetable.instants import parse_instant
from tocsin_gateway.api.problems import Problem, invalid_parameter

W = TypeVar("W", bound=str)

PAGE = 50
LARGEST_PAGE = 500
_MOST_CHARACTERS = 1_000


class Parameters:
    """The query of a request. Every method raises `Problem` 422 where it is wrong."""

    def __init__(self, request: Request, *known: str) -> None:
        self._query = request.query_params
        for name in self._query:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise invalid_parameter(name[:80], "unknown", f"there is no such parameter{hint}")

    def text(self, name: str) -> str | None:
        """The value, None where it is absent; given twice it is wrong."""
        values = self.texts(name)
        if len(values) > 1:
            raise invalid_parameter(name, "repeated", "give it once")
        return values[0] if values else None

    def texts(self, name: str) -> tuple[str, ...]:
        """All values."""
        values = tuple(self._query.getlist(name))
        for value in values:
            if "\0" in value or len(value) > _MOST_CHARACTERS:
                message = f"has a NUL or over {_MOST_CHARACTERS:,} characters"
                raise invalid_parameter(name, "length", message)
        return values

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number from 1 to `most`."""
        text = self.text(name)
        if text is None:
            return default
        if text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most:
            return int(text)
        raise invalid_parameter(name, "range", f"must be a whole number from 1 to {most:,}")

    def limit(self) -> int:
        """How many items a page has."""
        return self.number("limit", PAGE, LARGEST_PAGE)

    def truth(self, name: str) -> bool:
        """`true` or `false`; false where it is absent."""
        return self.one_of(name, ("true", "false")) == "true"

    def one_of(self, name: str, words: Sequence[W]) -> W | None:
        found = self.some_of(name, words)
        if len(found) > 1:
            raise invalid_parameter(name, "repeated", "give it once")
        return found[0] if found else None

    def some_of(self, name: str, words: Sequence[W]) -> tuple[W, ...]:
        """Words of `words`, one a parameter."""
        by_text = {str(word): word for word in words}
        values = self.texts(name)
        for value in values:
            if value not in by_text:
                raise invalid_parameter(name, "enum", f"expected one of {', '.join(words)}")
        return tuple(by_text[value] for value in values)

    def instant(self, name: str) -> int | None:
        """Epoch milliseconds of an RFC 3339 time."""
        return self._read(name, parse_instant, "instant")

    def instant_or_ago(self, name: str, now: int) -> int | None:
        """Epoch milliseconds of an RFC 3339 time, or of a duration such as PT2H before now."""
        return self._read(name, lambda text: _before(text, now), "instant")

    def tags(self) -> tuple[tuple[str, str | None], ...]:
        """`tag=name` or `tag=name:value`, several times."""
        return tuple(map(tag_of, self.texts("tag")))

    def _read(self, name: str, reader: Callable[[str], int], keyword: str) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            return reader(text)
        except ValueError as error:
            raise invalid_parameter(name, keyword, str(error)) from None


def tag_of(text: str) -> tuple[str, str | None]:
    """`name` or `name:value`; None = whatever value."""
    name, colon, value = text.partition(":")
    return name, value if colon else None


def _before(text: str, now: int) -> int:
    is_duration = text.startswith("P")
    return now - parse_duration_ms(text) if is_duration else parse_instant(text)


def wrong_cursor(error: ValueError) -> Problem:
    return invalid_parameter("cursor", "cursor", f"{error}; take next_cursor of the page before")
