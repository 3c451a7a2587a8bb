"""The fields of a schedule as plain values, to be stored and compared."""

from typing import Literal

import msgspec

Kind = Literal["cron", "at", "every", "rrule"]


class ScheduleFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A valid schedule as it was written, normalised: equal values are equal schedules.

    Text is as the user gave it. `gap` and `fold` are None where they were left out. `start` and
    `end` are epoch milliseconds.
    """

    cron: str | None = None
    at: str | None = None
    every_ms: int | None = None
    rrule: str | None = None
    dtstart: str | None = None
    timezone: str = "UTC"
    gap: str | None = None
    fold: str | None = None
    start: int | None = None
    end: int | None = None

    @property
    def kind(self) -> Kind:
        """Which of the four it is."""
        if self.cron is not None:
            return "cron"
        if self.at is not None:
            return "at"
        return "every" if self.every_ms is not None else "rrule"

    def with_start(self, start_ms: int) -> "ScheduleFields":
        """The same schedule with another start, which anchors an interval."""
        return msgspec.structs.replace(self, start=start_ms)
