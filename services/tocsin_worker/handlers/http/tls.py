"""What a job wants of TLS, as contexts: made once for the same texts, so connections are shared."""

import ssl
from functools import lru_cache
from tempfile import NamedTemporaryFile

from tocsin.model.runs import Error
from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.http.config import Tls
from tocsin_worker.handlers.port import HandlerFailed


def tls_context(tls: Tls | None, disclosure: Disclosure) -> ssl.SSLContext | bool:
    """True: certificates are verified by the system's authorities, as by default.

    Raises `HandlerFailed` where a text is not what it should be: another worker's may be.
    """
    if tls is None:
        return True
    texts = (tls.ca, tls.client_certificate, tls.client_key)
    ca, certificate, key = (None if ref is None else disclosure.resolve(ref) for ref in texts)
    try:
        return _context(tls.verify, ca, certificate, key)
    except (ssl.SSLError, ValueError, OSError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        message = f"the PEM texts for TLS cannot be used: {reason}"
        raise HandlerFailed(Error(code="invalid", message=message)) from None


@lru_cache(maxsize=256)
def _context(
    verify: bool, ca: str | None, certificate: str | None, key: str | None
) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=ca)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        _load_chain(context, certificate, key)
    return context


def _load_chain(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    """The library takes files only; this one is readable by us alone, and gone at once."""
    with NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{certificate}\n{key or ''}\n")
        file.flush()
        context.load_cert_chain(file.name)
