"""The first fields of a framed value, without the rest.

A value in Avro is the concatenation of its fields, so a schema cut off after the fields that are
wanted reads them and stops: a restore and an audit need no payloads.
"""

from typing import Any, Final, Generic, TypeVar

import msgspec

from tocsin.model.jobs import Priority, Status
from tocsin.model.runs import Cause
from tocsin.model.values import Value
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import JOB, PREFIX_BYTES, RUN, Codec, WireError, read_schema
from tocsin.wire.flat import FlatReader

P = TypeVar("P", bound=Value)


class PrefixCodec(Generic[P]):
    """Reads a `kind` from values of `whole`, whose schema begins with its fields."""

    def __init__(self, whole: Codec[Any], kind: type[P]) -> None:
        self._whole = whole
        self._kind = kind
        wanted = kind.__struct_fields__
        schema = read_schema(whole.name)
        schema["fields"] = schema["fields"][: len(wanted)]
        names = tuple(field["name"] for field in schema["fields"])
        assert names == wanted, f"a {whole.name} begins with {names}, not with {wanted}"
        self._reader = FlatReader(schema)

    def decode(self, value: bytes) -> P:
        """The first fields; the rest is not looked at. Raises `WireError`."""
        self._whole.check_prefix(value)
        try:
            fields, _ = self._reader.read(value, PREFIX_BYTES)
            return msgspec.convert(fields, self._kind)
        except (IndexError, ValueError) as error:
            raise WireError(f"not a {self._whole.name} in Avro: {str(error)[:300]}") from error


class JobPrefix(Value, frozen=True, kw_only=True):
    """What the timing of a job depends on, whether it is paused, and which job it is."""

    schedule: ScheduleFields
    jitter_ms: int
    status: Status | None
    priority: Priority
    tenant: str
    job_id: str

    @property
    def is_whole(self) -> bool:
        """Nothing is left for the fold to fill in."""
        schedule = self.schedule
        return self.status is not None and (schedule.every_ms is None or schedule.start is not None)


class RunPrefix(Value, frozen=True, kw_only=True):
    """One attempt's identity and times; instants in epoch milliseconds."""

    run_id: str
    scheduled_time: int
    due_time: int
    emitted_time: int
    expires_time: int
    attempt: int
    cause: Cause


JOB_PREFIX: Final = PrefixCodec(JOB, JobPrefix)
RUN_PREFIX: Final = PrefixCodec(RUN, RunPrefix)
