"""Deeds: what somebody has a gateway do, as the audit log tells it.

A command goes through several hands before it is written, or found to be needless or wrong. The
deed that it belongs to is that of the task which carries it out, so that only who begins and ends a
deed, and who writes, have to know of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import uuid4

import msgspec

from tocsin.model.access import Audit

_under_way: ContextVar["Deed | None"] = ContextVar("deed", default=None)


class Deed:
    """Begun when a record says that it is about to be done; nothing of it is written before."""

    def __init__(self, entry: Audit) -> None:
        self.entry = entry
        self.deed_id = str(uuid4())
        self.is_begun = False
        self.is_done = False

    def done(self, before: int | None = None, after: int | None = None) -> None:
        """It was done, from which revision to which."""
        self.entry = msgspec.structs.replace(
            self.entry, before_revision=before, after_revision=after
        )
        self.is_done = True


def deed_under_way() -> Deed | None:
    """The one that this task carries out, if it is on record at all."""
    return _under_way.get()


@contextmanager
def carrying_out(deed: Deed) -> Iterator[None]:
    """The block, and what it awaits, belongs to the deed."""
    before = _under_way.set(deed)
    try:
        yield
    finally:
        _under_way.reset(before)
