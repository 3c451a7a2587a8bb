"""The requests of one attempt: the first, and those that redirects ask for."""

from dataclasses import dataclass, field, replace

from yarl import URL

from tocsin import clock
from tocsin.model.runs import Run
from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.http.config import HttpConfig, Request, canonical
from tocsin_worker.handlers.http.guard import refused_scheme
from tocsin_worker.handlers.http.signing import signature_headers
from tocsin_worker.handlers.payloads import default_type, is_empty, payload_bytes
from tocsin_worker.handlers.port import HandlerFailed
from tocsin_worker.handlers.run_facts import run_headers

Headers = dict[str, str]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OWN_ORIGIN_ONLY = frozenset(
    {"authorization", "cookie", "proxy-authorization", "webhook-signature"}
)
_OF_A_BODY = frozenset({"content-type", "webhook-signature", "webhook-timestamp"})


@dataclass(frozen=True, slots=True)
class Hop:
    """One request. `secret_headers`: names, in lower case, of headers whose values are secrets."""

    method: str
    url: URL
    headers: Headers
    body: bytes | None = None
    secret_headers: frozenset[str] = field(default=frozenset())

    def __str__(self) -> str:
        """For messages; a query may hold a token."""
        return f"{self.method} {self.url.with_query(None).with_fragment(None)}"


def first_hop(run: Run, request: Request, disclosure: Disclosure, credentials: Headers) -> Hop:
    """The request that a run becomes; raises `HandlerFailed` where payload or secrets do not
    allow it. What the worker says of the run wins over headers of the job."""
    config = request.config
    own = {name: disclosure.resolve(value) for name, value in config.headers.items()}
    typed, body = _body(run, config, own)
    ours = {**credentials, **run_headers(run), "webhook-id": run.run_id}
    if config.signing is not None:
        secrets = tuple(disclosure.resolve(reference) for reference in config.signing.secrets)
        seconds = clock.now_ms() // 1000
        ours |= signature_headers(secrets, run.run_id, seconds, body or b"")
    if not own:
        return Hop(config.method, request.url, {**typed, **ours}, body)
    headers = {**typed, **_without(own, frozenset(name.lower() for name in ours)), **ours}
    secret = frozenset(n.lower() for n, value in config.headers.items() if value != own[n])
    return Hop(config.method, request.url, headers, body, secret)


def _body(run: Run, config: HttpConfig, headers: Headers) -> tuple[Headers, bytes | None]:
    """The payload, with the `Content-Type` that it needs if the job names none."""
    if is_empty(run.payload):
        return {}, None
    named = next((v for name, v in headers.items() if name.lower() == "content-type"), None)
    body = payload_bytes(run.payload or b"", named, config.payload_encoding)
    return ({} if named is not None else default_type(config.payload_encoding)), body


def redirected(hop: Hop, status: int, location: str) -> Hop:
    """The request that a redirect asks for, as the Fetch standard has it (§4.4 HTTP-redirect
    fetch): 303, and 301 or 302 after a POST, become a GET without a body. Credentials, secret
    headers and signatures stay with their origin."""
    target = canonical(hop.url.join(URL(location)))
    if target.scheme not in {"http", "https"} or not target.host:
        raise HandlerFailed(refused_scheme(f"{hop} redirects to {target.scheme}:"))
    next_hop = replace(hop, url=target.with_user(None))
    if target.origin() != hop.url.origin():
        names = _OWN_ORIGIN_ONLY | hop.secret_headers
        next_hop = replace(next_hop, headers=_without(hop.headers, names))
    if status == 303 or (status in {301, 302} and hop.method == "POST"):
        headers = _without(next_hop.headers, _OF_A_BODY)
        next_hop = replace(next_hop, method="GET", headers=headers, body=None)
    return next_hop


def _without(headers: Headers, names: frozenset[str]) -> Headers:
    return {name: value for name, value in headers.items() if name.lower() not in names}
