"""The payload of a run as the bytes that a target gets."""

import base64
import binascii

import msgspec

from tocsin_worker.handlers.configs import unusable

JSON = "application/json"
BYTES = "application/octet-stream"


def is_empty(payload: bytes | None) -> bool:
    """Whether there is none; null is none."""
    return payload is None or payload.strip() == b"null"


def payload_bytes(payload: bytes, content_type: str | None, encoding: str | None) -> bytes:
    """JSON as it is; a string under a type that is not JSON as text; base64 as what it stands for.

    Raises `HandlerFailed` where the payload does not fit the encoding asked for.
    """
    if encoding == "base64":
        return _raw(payload)
    if content_type is not None and not _is_json(content_type) and _is_string(payload):
        return _text(payload).encode()
    return payload


def default_type(encoding: str | None) -> dict[str, str]:
    """The header of a payload whose job names none."""
    return {"Content-Type": BYTES if encoding == "base64" else JSON}


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == JSON or media_type.endswith("+json")


def _is_string(payload: bytes) -> bool:
    return payload.lstrip().startswith(b'"')


def _text(payload: bytes) -> str:
    try:
        return msgspec.json.decode(payload, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unusable(f"the payload is not a JSON string: {error}") from None


def _raw(payload: bytes) -> bytes:
    try:
        return base64.b64decode(_text(payload), validate=True)
    except (binascii.Error, ValueError) as error:
        raise unusable(f"payload_encoding is base64, and the payload is not: {error}") from None
