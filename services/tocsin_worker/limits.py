"""How much of a result and of an error history keeps."""

from typing import get_args

import msgspec

from tocsin.model.runs import Error, ErrorCode

RESULT_BYTES = 64 * 1024
ERROR_BYTES = 8 * 1024
_HEAD_BYTES = 8 * 1024
_CODES = frozenset(get_args(ErrorCode))


class Oversize(msgspec.Struct, frozen=True):
    """Stands in history for a result over the limit: JSON cannot be cut and stay JSON."""

    truncated: bool
    bytes: int
    head: str


def bounded_result(result: bytes | None) -> bytes | None:
    """The result, or what stands for one of more than `RESULT_BYTES`."""
    if result is None or len(result) <= RESULT_BYTES:
        return result
    head = result[:_HEAD_BYTES].decode(errors="replace")
    return msgspec.json.encode(Oversize(truncated=True, bytes=len(result), head=head))


def bounded_error(error: Error) -> Error:
    """The error with a message that is text and has at most `ERROR_BYTES` in UTF-8.

    A handler may be anyone's: a code that is none is told in the message of an `exception`.
    """
    known = error.code in _CODES
    text = error.message if known else f"{error.code}: {error.message}"
    message = text.encode(errors="backslashreplace")
    if len(message) > ERROR_BYTES:
        message = message[: ERROR_BYTES - 3].decode(errors="ignore").encode() + b"..."
    code = error.code if known else "exception"
    return msgspec.structs.replace(error, code=code, message=message.decode())
