"""Signatures of requests by the Standard Webhooks specification, scheme `v1` (HMAC-SHA256)."""

import base64
import binascii
import hashlib
import hmac

from tocsin.model.runs import Error
from tocsin_worker.handlers.port import HandlerFailed

PREFIX = "whsec_"


def signature_headers(
    secrets: tuple[str, ...], message_id: str, timestamp_s: int, body: bytes
) -> dict[str, str]:
    """`webhook-*`. Each secret, `whsec_` and base64, gives one signature, so that a receiver
    accepts the old secret and the new one while they are rotated. Raises `HandlerFailed`."""
    content = f"{message_id}.{timestamp_s}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(_signature(_key(secret), content) for secret in secrets),
    }


def _signature(key: bytes, content: bytes) -> str:
    return "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def _key(secret: str) -> bytes:
    """A secret that another worker may hold in the right form is no permanent failure."""
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        message = f"a signing secret is not {PREFIX} and base64, as Standard Webhooks wants it"
        raise HandlerFailed(Error(code="invalid", message=message)) from None
