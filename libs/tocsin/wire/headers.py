"""Record headers of the jobs topic.

`tocsin-if-revision`: the command counts only where the accepted revision (offset of the accepted
record) is this one; `none` = only where the job does not exist.
`tocsin-restates`: `offset,timestamp,through`: the record repeats what was accepted at that offset
and log timestamp, after the record at offset `through` was judged.

Of the jobs and the signals topic:
`tocsin-idempotency-key`, `tocsin-request-digest`: the request that the command carries out, by the
name that its sender gave it and by a hash of what it asks for. The first command in the log counts.

`tocsin-audit` of the audit topic: `begun,ID`: the deed is about to be done; `void,ID`: it was not.
A record without it, or with `done,ID`, says that it was done; the id is that of the begun record.

`tocsin-slots` of the signals topic: how many slots a backfill has, as its sender has counted.

`tocsin-log` of a `%watermark`: `jobs,signals,outcomes`, ids of the topics that its offsets are in.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tocsin.model.fold import Condition, Restates

IF_REVISION = "tocsin-if-revision"
RESTATES = "tocsin-restates"
IDEMPOTENCY_KEY = "tocsin-idempotency-key"
REQUEST_DIGEST = "tocsin-request-digest"
SLOTS = "tocsin-slots"
LOG = "tocsin-log"
AUDIT = "tocsin-audit"

Headers = Sequence[tuple[str, bytes]]


class HeaderError(ValueError):
    """A header whose value is not of its form."""


AuditStage = Literal["begun", "done", "void"]


class AuditMark(NamedTuple):
    """What a record of the audit topic says of the deed with that id."""

    stage: AuditStage
    deed_id: str


class Idempotency(NamedTuple):
    """A request that may be sent several times: the sender's key, and a hash of the request."""

    key: str
    digest: str


def last_header(headers: Headers, name: str) -> bytes | None:
    """The value of the last header of that name, which is the one that counts in Kafka."""
    return next((value for key, value in reversed(headers) if key == name), None)


class SourceIds(NamedTuple):
    """Ids of the topics that a scheduler reads; a topic that is made again has another."""

    jobs: str
    signals: str
    outcomes: str


def condition_header(condition: int | Literal["none"]) -> tuple[str, bytes]:
    return IF_REVISION, str(condition).encode()


def read_condition(headers: Headers) -> Condition:
    """The revision a command depends on; raises `HeaderError`."""
    value = last_header(headers, IF_REVISION)
    if value is None:
        return None
    if value == b"none":
        return "none"
    return _number(IF_REVISION, value)


def restates_header(restates: Restates) -> tuple[str, bytes]:
    return RESTATES, f"{restates.revision},{restates.timestamp},{restates.through}".encode()


def read_restates(headers: Headers) -> Restates | None:
    """What a record restates, or None for a command; raises `HeaderError`."""
    value = last_header(headers, RESTATES)
    if value is None:
        return None
    parts = value.split(b",")
    if len(parts) != 3:
        raise HeaderError(f"{RESTATES}: expected offset,timestamp,through")
    revision, timestamp, through = (_number(RESTATES, part) for part in parts)
    return Restates(revision=revision, timestamp=timestamp, through=through)


def idempotency_headers(request: Idempotency) -> list[tuple[str, bytes]]:
    return [(IDEMPOTENCY_KEY, request.key.encode()), (REQUEST_DIGEST, request.digest.encode())]


def read_idempotency(headers: Headers) -> Idempotency | None:
    """The request that a command carries out; None where it names none in this form."""
    key, digest = last_header(headers, IDEMPOTENCY_KEY), last_header(headers, REQUEST_DIGEST)
    if key is None or digest is None or not (key.isascii() and digest.isascii()):
        return None
    return Idempotency(key.decode(), digest.decode())


def audit_header(mark: AuditMark) -> tuple[str, bytes]:
    return AUDIT, f"{mark.stage},{mark.deed_id}".encode()


def read_audit_mark(headers: Headers) -> AuditMark | None:
    """None where the record names no deed in this form: it was done."""
    stage, _, deed_id = (
        (last_header(headers, AUDIT) or b"").decode("utf-8", "replace").partition(",")
    )
    match stage:
        case "begun" | "done" | "void":
            return AuditMark(stage, deed_id)
    return None


def slots_header(slots: int) -> tuple[str, bytes]:
    return SLOTS, str(slots).encode()


def read_slots(headers: Headers) -> int | None:
    """How many slots a backfill has; None where it does not say, in this form."""
    value = last_header(headers, SLOTS)
    return int(value) if value is not None and value.isdigit() and len(value) < 10 else None


def log_header(sources: SourceIds) -> tuple[str, bytes]:
    return LOG, ",".join(sources).encode()


def read_log(headers: Headers) -> SourceIds | None:
    """The topics that a watermark's offsets are in; None where it does not say, in this form."""
    value = last_header(headers, LOG)
    parts = () if value is None else tuple(value.decode(errors="replace").split(","))
    return SourceIds(*parts) if len(parts) == len(SourceIds._fields) else None


def _number(name: str, value: bytes) -> int:
    if not value.isdigit() or len(value) > 19:
        raise HeaderError(f"{name}: expected a whole number, 0 or more")
    return int(value)
