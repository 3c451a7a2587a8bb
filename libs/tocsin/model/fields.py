"""Reading a JSON object field by field: strict about shapes, and complete about what is wrong."""

import difflib
from collections.abc import Callable
from itertools import islice
from typing import Final, TypeVar, cast

from tocsin.model.errors import FieldError, clipped, pointer
from tocsin.model.strict_json import JsonValue, dumps
from tocsin.timetable import parse_duration_ms
from tocsin.timetable.instants import parse_instant

T = TypeVar("T")
D = TypeVar("D")
W = TypeVar("W", bound=str)

MAX_ERRORS: Final = 100
MAX_UNKNOWN: Final = 20

_ABSENT: Final = object()


class WrongValue(ValueError):
    """A value that a reader refuses: the rule's keyword and a sentence."""

    def __init__(self, keyword: str, message: str) -> None:
        super().__init__(message)
        self.keyword = keyword


class Fields:
    """The members of one JSON object. What is wrong goes to `errors`, and reading goes on.

    At most 100 errors are noted, and 20 unknown members an object: documents may be long.

    A reader returns its default where the member is absent or wrong. Null is another word for
    absent where the default is None; elsewhere it is wrong.
    """

    def __init__(
        self, document: object, errors: list[FieldError], at: tuple[str | int, ...] = ()
    ) -> None:
        self.is_object = isinstance(document, dict)
        self._members: dict[str, object] = {}
        self._errors = errors
        self._at = at
        self._known: dict[str, None] = {}
        if isinstance(document, dict):
            self._take(document)
        else:
            self.error((), "type", f"expected an object, found {kind_of(document)}")

    def _take(self, members: dict[object, object]) -> None:
        """YAML knows names that are no text: `2026` and `yes` are a number and true."""
        for name, value in members.items():
            if isinstance(name, str):
                self._members[name] = value
            else:
                self.error((str(name),), "type", "a name must be text; put it in quotes")

    def error(self, names: tuple[str | int, ...], keyword: str, message: str) -> None:
        """Note that the member at `names` below this object is wrong."""
        if len(self._errors) < MAX_ERRORS:
            at = pointer(*self._at, *names)
            self._errors.append(
                FieldError(pointer=at, keyword=keyword, message=clipped(message, 500))
            )

    def has(self, name: str) -> bool:
        return self._members.get(name) is not None

    def require(self, *names: str) -> None:
        """Note each of `names` that is absent or null, if this is an object at all."""
        for name in names:
            if self.is_object and not self.has(name):
                self._known[name] = None
                self.error((name,), "required", f"{name} is missing")

    def read(self, name: str, default: D, reader: Callable[[object], T]) -> T | D:
        """The member as `reader` makes it; a `WrongValue` it raises is noted."""
        self._known[name] = None
        value = self._members.get(name, _ABSENT)
        if value is _ABSENT or (value is None and default is None):
            return default
        try:
            return reader(value)
        except WrongValue as wrong:
            self.error((name,), wrong.keyword, str(wrong))
            return default

    def texts(self, name: str) -> dict[str, str]:
        """A member that is an object of texts; empty where it is absent."""
        inner = self.section(name)
        return {key: inner.read(key, "", text) for key in inner.names()}

    def section(self, name: str) -> "Fields":
        """A member that is an object; empty where it is absent."""
        self._known[name] = None
        return Fields(self._members.get(name, {}), self._errors, (*self._at, name))

    def optional_section(self, name: str) -> "Fields | None":
        """A member that is an object; None where it is absent or null."""
        self._known[name] = None
        return self.section(name) if self.has(name) else None

    def names(self) -> list[str]:
        return list(self._members)

    def rest(self) -> dict[str, object]:
        """The members that nobody has asked for."""
        return {name: value for name, value in self._members.items() if name not in self._known}

    def skip(self, name: str) -> None:
        """Let a member stand that is not read."""
        self._known[name] = None

    def finish(self) -> None:
        """Note the members that nobody has asked for: a misspelled one must not be ignored."""
        for name in islice(self.rest(), MAX_UNKNOWN):
            shown = clipped(name, 80)
            near = difflib.get_close_matches(shown.lower(), self._known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.error((name,), "unknown", f"there is no field {shown}{hint}")


def kind_of(value: object) -> str:
    """What a JSON value is, for a sentence."""
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "text"}
    others = {list: "a list", dict: "an object", type(None): "null"}
    return (kinds | others).get(type(value), f"a {type(value).__name__}")


def text(value: object) -> str:
    if not isinstance(value, str):
        raise WrongValue("type", f"expected text, found {kind_of(value)}")
    return value


def truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise WrongValue("type", f"expected true or false, found {kind_of(value)}")
    return value


def whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        found = value if isinstance(value, float) else kind_of(value)
        raise WrongValue("type", f"expected a whole number, found {found}")
    return value


def number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongValue("type", f"expected a number, found {kind_of(value)}")
    try:
        return float(value)
    except OverflowError:
        raise WrongValue("maximum", "too large a number") from None


def duration_ms(value: object) -> int:
    """Milliseconds of whole seconds or an ISO 8601 duration."""
    try:
        return parse_duration_ms(value, minimum_ms=0)
    except ValueError as error:
        raise WrongValue("duration", str(error)) from None


def instant(value: object) -> int:
    """Epoch milliseconds of an RFC 3339 time."""
    try:
        return parse_instant(text(value))
    except WrongValue:
        raise
    except ValueError as error:
        raise WrongValue("instant", str(error)) from None


def one_of(*words: W) -> Callable[[object], W]:
    """A reader of one of `words`, in exactly that spelling."""

    def word(value: object) -> W:
        given = text(value)
        if given in words:
            return given
        near = difflib.get_close_matches(given.lower(), words, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise WrongValue("enum", f"expected one of {', '.join(words)}{hint}")

    return word


def json_bytes(value: object) -> bytes:
    try:
        return dumps(cast("JsonValue", value))
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongValue("type", f"not JSON: {error}") from None
