"""Commands as they stand on the log: Avro, or JSON of the same shape where it begins with `{`."""

from collections.abc import Callable
from typing import TypeVar

from tocsin.model.errors import InvalidDocument
from tocsin.model.job_json import check_job, parse_job
from tocsin.model.jobs import Job
from tocsin.model.keys import InvalidKey, JobKey, parse_job_key
from tocsin.model.signal_json import check_signal, parse_signal
from tocsin.model.signals import Signal
from tocsin.model.strict_json import InvalidJson, loads
from tocsin.wire.codec import JOB, SIGNAL, WireError

V = TypeVar("V")


class InvalidCommand(ValueError):
    """A record that commands nothing: bytes, key or fields are wrong; the message says which."""


def decode_key(key: bytes | None) -> JobKey:
    """The job that a record's key names; raises `InvalidCommand`."""
    try:
        return parse_job_key((key or b"").decode())
    except UnicodeDecodeError:
        raise InvalidCommand("the key is not UTF-8; expected tenant/job_id") from None
    except InvalidKey as error:
        raise InvalidCommand(str(error)) from None


def decode_job_command(key: JobKey, value: bytes) -> Job:
    """The definition that a record of the jobs topic states; raises `InvalidCommand`.

    `status` and the start of `every` may still be left out: the fold fills them in.
    """
    return _decode(lambda: _job(key, value))


def decode_signal(value: bytes) -> Signal:
    """The signal that a record of the signals topic states; raises `InvalidCommand`."""
    return _decode(lambda: _signal(value))


def _decode(read: Callable[[], V]) -> V:
    try:
        return read()
    except InvalidJson as error:
        raise InvalidCommand(f"not JSON: {error}") from error
    except (WireError, InvalidDocument) as error:
        raise InvalidCommand(str(error)) from error


def _job(key: JobKey, value: bytes) -> Job:
    if value.startswith(b"{"):
        return parse_job(loads(value), key)
    job = JOB.decode(value)
    if job.key != key:
        raise InvalidCommand(f"the record's key is {key}, the definition is of {job.key}")
    check_job(job)
    return job


def _signal(value: bytes) -> Signal:
    if value.startswith(b"{"):
        return parse_signal(loads(value))
    signal = SIGNAL.decode(value)
    check_signal(signal)
    return signal
