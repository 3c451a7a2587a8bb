"""A small local HTTP receiver, for sample jobs to call.

Every path answers 200 and says what was received, but `/flaky`: it answers 503 to all attempts of
a run before the third.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tocsin.health import CannotListen

SUCCEEDS_AT = 3
"""The attempt with which a call to `/flaky` succeeds."""


@contextmanager
def receiver(port: int) -> Iterator[str]:
    """The receiver's URL, without a slash at its end, while it serves. Raises CannotListen."""
    server = _server(port)
    thread = Thread(target=server.serve_forever, name="receiver", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _server(port: int) -> "_Server":
    try:
        return _Server(("127.0.0.1", port), _Handler)
    except OSError as error:
        raise CannotListen(f"cannot listen on 127.0.0.1:{port}: {error.strerror}") from None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # the answer in one packet

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        attempt = int(self.headers.get("Tocsin-Attempt", 1))
        if self.path == "/flaky" and attempt < SUCCEEDS_AT:
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, {"answer": "not before the third attempt"})
        else:
            received = self.headers.get("Idempotency-Key")
            self._send(HTTPStatus.OK, {"received": received, "attempt": attempt})

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815

    def _send(self, status: HTTPStatus, body: dict[str, object]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the table of runs says it."""
