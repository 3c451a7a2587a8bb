"""What is wrong with a document, field by field."""

from collections.abc import Iterable
from typing import Final

from tocsin.model.values import Value

MAX_TOLD: Final = 10
"""How many errors the text of an exception tells."""


class FieldError(Value, frozen=True, kw_only=True):
    """One wrong field.

    pointer: RFC 6901, such as `/schedule/timezone`; empty = the document. keyword: the rule that
    is broken, for programs. message: a sentence for a person.
    """

    pointer: str
    keyword: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.message}" if self.pointer else self.message


class InvalidDocument(ValueError):
    """A document with wrong fields: all of them, in `errors`; the first ones as its text."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        told = "; ".join(str(error) for error in self.errors[:MAX_TOLD])
        more = len(self.errors) - MAX_TOLD
        super().__init__(f"{told}; and {more} more" if more > 0 else told)


class InvalidJob(InvalidDocument):
    """A job definition that breaks a rule of `docs/reference/jobs.md`."""


class InvalidSignal(InvalidDocument):
    """A signal that breaks a rule of its kind."""


def pointer(*names: str | int) -> str:
    """The JSON pointer to a member: `pointer("tags", "a/b")` = `/tags/a~1b`.

    A long name is cut: what somebody sends must not come back as long in errors and events.
    """
    cut = (clipped(str(name)) for name in names)
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in cut)


def clipped(text: str, limit: int = 200) -> str:
    """`text`, or its beginning and three dots, in no more than `limit` characters."""
    return text if len(text) <= limit else text[: limit - 3] + "..."
