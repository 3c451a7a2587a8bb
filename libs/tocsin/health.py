"""The small HTTP server of a service that has no other: health, readiness, metrics, version.

GET /healthz/live   200, or 503 with the reason for a restart
GET /healthz/ready  200, or 503 with the reason why not yet
GET /metrics        Prometheus' text format
GET /version        what this process is made of
"""

import json
import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Thread
from types import TracebackType
from typing import Self

from tocsin import __version__
from tocsin.metrics import CONTENT_TYPE, Metrics
from tocsin.settings import Address

LOG = logging.getLogger(__name__)

Reason = Callable[[], str | None]
"""Answers at once, from any thread: None if all is well, else one sentence why not."""


def all_is_well() -> None:
    """The reason of a service that has nothing to complain of."""


class CannotListen(Exception):
    """The address is taken or not of this machine; the message is a sentence that says so."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a process is made of, as `/version` shows it."""

    tzdata: str
    """The release of the zone database in use."""
    schemas: Mapping[str, int] = field(default_factory=dict)
    """The schema id of each record it writes."""
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole of an HTTP response."""

    status: HTTPStatus
    content_type: str
    body: bytes


_NO_PAGES: Mapping[str, Callable[[], Mapping[str, object]]] = {}


class HealthServer:
    """Serves in threads of its own from `with` to the end of the block.

    The address is taken, or CannotListen raised, when it is built.
    """

    def __init__(
        self,
        address: Address,
        metrics: Metrics,
        version: Version,
        *,
        ready: Reason,
        live: Reason = all_is_well,
        more: Mapping[str, Callable[[], Mapping[str, object]]] = _NO_PAGES,
    ) -> None:
        """`more`: further paths and the JSON objects they show; asked from any thread."""
        self._pages: Mapping[str, Callable[[], Answer]] = {
            "/healthz/live": lambda: _health("live", live()),
            "/healthz/ready": lambda: _health("ready", ready()),
            "/metrics": lambda: Answer(HTTPStatus.OK, CONTENT_TYPE, metrics.exposition()),
            "/version": lambda: _json(HTTPStatus.OK, asdict(version)),
            **{path: _page(content) for path, content in more.items()},
        }
        self._server = _listen(address, self.answer)
        self._thread = Thread(target=self._server.serve_forever, name="health", daemon=True)

    @property
    def address(self) -> Address:
        """Where it really listens, also if port 0 was asked for."""
        host, port = self._server.server_address[:2]
        return Address(str(host), port)

    def answer(self, path: str) -> Answer:
        """The response to a GET of `path`, its query left aside."""
        page = self._pages.get(path.partition("?")[0])
        if page is None:
            return _problem(HTTPStatus.NOT_FOUND)
        try:
            return page()
        except Exception:
            LOG.exception("%s failed", path, extra={"action": "health_request_failed"})
            return _problem(HTTPStatus.INTERNAL_SERVER_ERROR)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: Address, answer: Callable[[str], Answer]) -> None:
        self.answer = answer
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # Not HTTPServer's: that asks the name service for the host's name, which may take seconds.
        TCPServer.server_bind(self)

    def handle_error(self, request: object, client_address: object) -> None:
        LOG.debug("a client went away", extra={"action": "health_client_gone"})


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 10
    """Seconds that a connection may stand idle."""

    def do_GET(self) -> None:
        answer = self.server.answer(self.path)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_HEAD = do_GET  # noqa: N815 — the base class's

    def version_string(self) -> str:
        return f"tocsin/{__version__}"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — the base class's
        """Nothing: probes come every few seconds."""


def _listen(address: Address, answer: Callable[[str], Answer]) -> _Server:
    try:
        return _Server(address, answer)
    except OSError as error:
        raise CannotListen(
            f"cannot listen on {address.host}:{address.port} ({error.strerror or error}): "
            "set TOCSIN_LISTEN to another HOST:PORT"
        ) from error


def _health(what: str, reason: str | None) -> Answer:
    if reason is None:
        return _json(HTTPStatus.OK, {"status": what})
    return _json(HTTPStatus.SERVICE_UNAVAILABLE, {"status": f"not {what}", "reason": reason})


def _page(content: Callable[[], Mapping[str, object]]) -> Callable[[], Answer]:
    return lambda: _json(HTTPStatus.OK, content())


def _problem(status: HTTPStatus) -> Answer:
    value = {"type": "about:blank", "title": status.phrase, "status": status}
    return _json(status, value, "application/problem+json")


def _json(status: HTTPStatus, value: object, content_type: str = "application/json") -> Answer:
    return Answer(status, content_type, json.dumps(value).encode() + b"\n")
