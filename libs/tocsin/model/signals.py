"""Imperative commands for one job."""

from typing import Literal

import msgspec

from tocsin.model.jobs import Overlap
from tocsin.model.runs import Dead, Error
from tocsin.model.values import Value

SignalKind = Literal["trigger", "backfill", "cancel", "complete", "redrive"]


class Signal(Value, frozen=True, kw_only=True):
    """`assumes`: offset in the jobs topic that has to be applied first; None = none."""

    signal: SignalKind
    signal_id: str
    assumes: int | None = None
    payload: bytes | None = None
    overlap: Overlap | None = None
    from_time: int | None = msgspec.field(default=None, name="from")
    to_time: int | None = msgspec.field(default=None, name="to")
    run_id: str | None = None
    backfill_id: str | None = None
    attempt: int | None = None
    succeeded: bool | None = None
    result: bytes | None = None
    error: Error | None = None
    dead: Dead | None = None
