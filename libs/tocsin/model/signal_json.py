"""A signal as JSON, and the rules that hold for it in Avro too."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, get_args

from tocsin.model.errors import FieldError, InvalidSignal
from tocsin.model.fields import Fields, instant, json_bytes, one_of, text, truth, whole
from tocsin.model.jobs import Overlap
from tocsin.model.limits import (
    INT_MAX,
    LONG_MAX,
    MAX_DEFINITION_BYTES,
    MAX_ERROR_BYTES,
    MAX_PAYLOAD_BYTES,
    MAX_RESULT_BYTES,
    json_errors,
    range_errors,
)
from tocsin.model.run_json import read_dead, read_error
from tocsin.model.run_rules import dead_number_errors, run_id_errors
from tocsin.model.runs import Dead, Error
from tocsin.model.signals import Signal, SignalKind

_KINDS: Final[tuple[SignalKind, ...]] = get_args(SignalKind)
_OVERLAPS: Final[tuple[Overlap, ...]] = get_args(Overlap)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)

# JSON name -> attribute, where they differ.
_ATTRIBUTES: Final = {"from": "from_time", "to": "to_time"}
_REQUIRED: Final[dict[SignalKind, tuple[str, ...]]] = {
    "trigger": (),
    "backfill": ("from", "to"),
    "cancel": (),
    "complete": ("run_id", "attempt", "succeeded"),
    "redrive": ("dead",),
}
_OPTIONAL: Final[dict[SignalKind, tuple[str, ...]]] = {
    "trigger": ("payload", "overlap"),
    "backfill": ("overlap",),
    "cancel": ("run_id", "backfill_id"),
    "complete": ("result", "error"),
    "redrive": (),
}
_SPECIFIC: Final = tuple(dict.fromkeys(chain(*_REQUIRED.values(), *_OPTIONAL.values())))


def parse_signal(document: object) -> Signal:
    """The signal that `document`, a JSON value, states; raises `InvalidSignal`, complete."""
    errors: list[FieldError] = []
    signal = _read(Fields(document, errors))
    if not errors:
        errors += _signal_errors(signal)
    if errors:
        raise InvalidSignal(errors)
    return signal


def is_signal_id(text: str) -> bool:
    """Whether a signal can have this id."""
    return _UUID.fullmatch(text) is not None


def check_signal(signal: Signal) -> None:
    """Raises `InvalidSignal` where a signal that came in Avro, or from a program, breaks a rule."""
    errors = tuple(_signal_errors(signal))
    if errors:
        raise InvalidSignal(errors)


def _read(fields: Fields) -> Signal:
    fields.require("signal", "signal_id")
    error, dead = fields.optional_section("error"), fields.optional_section("dead")
    signal = Signal(
        signal=fields.read("signal", "trigger", one_of(*_KINDS)),
        signal_id=fields.read("signal_id", "", text),
        assumes=fields.read("assumes", None, whole),
        payload=fields.read("payload", None, json_bytes),
        overlap=fields.read("overlap", None, one_of(*_OVERLAPS)),
        from_time=fields.read("from", None, instant),
        to_time=fields.read("to", None, instant),
        run_id=fields.read("run_id", None, text),
        backfill_id=fields.read("backfill_id", None, text),
        attempt=fields.read("attempt", None, whole),
        succeeded=fields.read("succeeded", None, truth),
        result=fields.read("result", None, json_bytes),
        error=None if error is None else read_error(error),
        dead=None if dead is None else read_dead(dead),
    )
    fields.finish()
    return signal


def _signal_errors(signal: Signal) -> Iterator[FieldError]:
    if not is_signal_id(signal.signal_id):
        message = "is not a UUID such as 019a3f5e-7c1b-7d2a-9e4f-3b5a6c7d8e9f, in lower case"
        yield FieldError(pointer="/signal_id", keyword="pattern", message=message)
    yield from range_errors("/assumes", signal.assumes, 0, LONG_MAX)
    yield from range_errors("/attempt", signal.attempt, 1, INT_MAX)
    if signal.overlap not in (None, *_OVERLAPS):
        message = f"expected one of {', '.join(_OVERLAPS)}"
        yield FieldError(pointer="/overlap", keyword="enum", message=message)
    yield from json_errors("/payload", signal.payload, MAX_PAYLOAD_BYTES)
    yield from json_errors("/result", signal.result, MAX_RESULT_BYTES)
    yield from _presence_errors(signal)
    yield from _kind_errors(signal)
    yield from run_id_errors("/run_id", signal.run_id)
    yield from _error_errors("/error", signal.error)
    yield from _dead_errors(signal.dead)


def _presence_errors(signal: Signal) -> Iterator[FieldError]:
    """Each kind has fields that it needs and fields that it may have, and no others."""
    required = _REQUIRED[signal.signal]
    allowed = required + _OPTIONAL[signal.signal]
    for name in _SPECIFIC:
        present = getattr(signal, _ATTRIBUTES.get(name, name)) is not None
        if name in required and not present:
            message = f"{name} is missing: {signal.signal} needs it"
            yield FieldError(pointer=f"/{name}", keyword="required", message=message)
        elif present and name not in allowed:
            message = f"{signal.signal} has no {name}"
            yield FieldError(pointer=f"/{name}", keyword="unknown", message=message)


def _kind_errors(signal: Signal) -> Iterator[FieldError]:
    """What holds between the fields of one kind."""
    if signal.signal == "cancel" and (signal.run_id is None) == (signal.backfill_id is None):
        message = "cancel needs one of run_id and backfill_id"
        yield FieldError(pointer="", keyword="required", message=message)
    start, end = signal.from_time, signal.to_time
    if start is not None and end is not None and end <= start:
        message = "to must be later than from"
        yield FieldError(pointer="/to", keyword="minimum", message=message)
    if signal.succeeded is True and signal.error is not None:
        message = "a run that succeeded has no error"
        yield FieldError(pointer="/error", keyword="unknown", message=message)
    if signal.succeeded is False and signal.result is not None:
        message = "a run that failed has no result"
        yield FieldError(pointer="/result", keyword="unknown", message=message)


def _error_errors(at: str, error: Error | None) -> Iterator[FieldError]:
    if error is None:
        return
    size = len(error.message.encode(errors="replace"))
    if size > MAX_ERROR_BYTES:
        message = f"is {size:,} bytes; the most is {MAX_ERROR_BYTES:,}"
        yield FieldError(pointer=f"{at}/message", keyword="size", message=message)
    yield from range_errors(f"{at}/retry_after_ms", error.retry_after_ms, 0, LONG_MAX)


def _dead_errors(dead: Dead | None) -> Iterator[FieldError]:
    """A dead record names one run, and that run is of the job it says."""
    if dead is None:
        return
    yield from dead_number_errors(dead)
    if dead.outcome.run_id != dead.run.run_id:
        message = "is another run's"
        yield FieldError(pointer="/dead/outcome/run_id", keyword="agree", message=message)
    yield from json_errors("/dead/run/payload", dead.run.payload, MAX_PAYLOAD_BYTES)
    yield from json_errors(
        "/dead/run/handler/config", dead.run.handler.config, MAX_DEFINITION_BYTES
    )
