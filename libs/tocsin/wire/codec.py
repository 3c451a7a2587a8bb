"""Values in Avro behind the five-byte prefix: a zero byte and the schema id, big-endian.

The schemas are `schemas/*.avsc`, their ids `schemas/ids.yaml`. A reader knows a value's schema
by its id alone, so every shape that was ever released keeps its file and its id.
"""

import io
import json
import struct
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Generic, TypeVar

import fastavro
import msgspec
import yaml

from tocsin.model.access import Audit, Token
from tocsin.model.events import Event
from tocsin.model.jobs import Job
from tocsin.model.runs import Cancel, Dead, Outcome, Run, Worker
from tocsin.model.signals import Signal
from tocsin.model.state import JobState, RunState, Watermark
from tocsin.model.values import Value
from tocsin.resources import resource_path
from tocsin.wire.flat import FlatReader, NotFlat, Schema

V = TypeVar("V", bound=Value)
Read = Callable[[bytes, int], tuple[Any, int]]
"""Of framed bytes and the place of a value in them: its fields, and where it ends."""

PREFIX_BYTES = 5
_PREFIX = struct.Struct(">bI")


class WireError(ValueError):
    """Bytes that are not a value of the expected kind; the message says why."""


@cache
def schema_ids() -> dict[str, int]:
    """Schema name -> id, from `ids.yaml`."""
    ids = yaml.safe_load((resource_path("schemas") / "ids.yaml").read_text("utf-8"))
    return {str(name): int(number) for name, number in ids.items()}


def read_schema(name: str) -> Schema:
    """The schema of that name as its file has it."""
    path = resource_path("schemas") / f"{name}.avsc"
    schema: Schema = json.loads(path.read_text("utf-8"))
    return schema


class Codec(Generic[V]):
    """Bytes <-> frozen values of one kind. `prefix`: the five bytes in front of each."""

    def __init__(self, name: str, kind: type[V]) -> None:
        self.name = name
        self.schema_id = schema_ids()[name]
        self._kind = kind
        self.prefix = _PREFIX.pack(0, self.schema_id)
        schema = read_schema(name)
        self._schema = fastavro.parse_schema(schema)
        self._write: Callable[..., None] = fastavro.schemaless_writer
        self._read = _reader(schema, self._schema)

    def encode(self, value: V) -> bytes:
        """The value framed. A `Value` fits its schema by construction."""
        out = io.BytesIO()
        out.write(self.prefix)
        fields = msgspec.to_builtins(value, builtin_types=(bytes,))
        self._write(out, self._schema, fields, disable_tuple_notation=True)
        return out.getvalue()

    def decode(self, data: bytes) -> V:
        """Raises `WireError` for anything but exactly one value of this kind."""
        self.check_prefix(data)
        try:
            fields, end = self._read(data, PREFIX_BYTES)
            value = msgspec.convert(fields, self._kind)
        except Exception as error:  # fastavro raises whatever the bytes provoke
            raise WireError(f"not a {self.name} in Avro: {str(error)[:300]}") from error
        if end != len(data):
            raise WireError(f"{len(data) - end} bytes after the end of a {self.name}")
        return value

    def check_prefix(self, data: bytes) -> None:
        """Raises `WireError` where `data` does not begin with this kind's schema id."""
        if len(data) < PREFIX_BYTES or data[0] != 0:
            raise WireError(f"no schema id in front; a {self.name} begins with {self.prefix.hex()}")
        found = _PREFIX.unpack_from(data)[1]
        if found != self.schema_id:
            raise WireError(f"schema id {found}; a {self.name} has {self.schema_id}")


def _reader(schema: Schema, parsed: Any) -> Read:
    """The library's, where there is no quicker one."""
    try:
        return FlatReader(schema).read
    except NotFlat:
        return partial(_read_by_library, parsed)


def _read_by_library(parsed: Any, data: bytes, at: int) -> tuple[Any, int]:
    source = io.BytesIO(data)
    source.seek(at)
    return fastavro.schemaless_reader(source, parsed, None), source.tell()


JOB = Codec("job", Job)
SIGNAL = Codec("signal", Signal)
OUTCOME = Codec("outcome", Outcome)
RUN = Codec("run", Run)
EVENT = Codec("event", Event)
DEAD = Codec("dead", Dead)
CANCEL = Codec("cancel", Cancel)
WORKER = Codec("worker", Worker)
JOB_STATE = Codec("state_job", JobState)
RUN_STATE = Codec("state_run", RunState)
WATERMARK = Codec("state_watermark", Watermark)
TOKEN = Codec("access", Token)
AUDIT = Codec("audit", Audit)

CODECS: tuple[Codec[Any], ...] = (
    JOB,
    SIGNAL,
    OUTCOME,
    RUN,
    EVENT,
    DEAD,
    CANCEL,
    WORKER,
    JOB_STATE,
    RUN_STATE,
    WATERMARK,
    TOKEN,
    AUDIT,
)


def codec_of(data: bytes) -> Codec[Any]:
    """The codec that a framed value names; raises `WireError` for an unknown or missing id."""
    if len(data) >= PREFIX_BYTES and data[0] == 0:
        found = _PREFIX.unpack_from(data)[1]
        for codec in CODECS:
            if codec.schema_id == found:
                return codec
        raise WireError(f"schema id {found} is not one of Tocsin's")
    raise WireError("no schema id in front")
