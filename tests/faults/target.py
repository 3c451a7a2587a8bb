"""An HTTP target that answers when the test says so, or after a time."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread

CONNECTIONS = 256


class Target:
    """`asked`: how often each run has called; `let_go` opens the gate for all, now and later."""

    def __init__(self, port: int, takes_s: float | None) -> None:
        self.url = f"http://127.0.0.1:{port}/"
        self._takes_s = takes_s
        self._gate = Event()
        self._lock = Lock()
        self._asked: Counter[str] = Counter()

    @property
    def asked(self) -> Counter[str]:
        with self._lock:
            return self._asked.copy()

    def let_go(self) -> None:
        self._gate.set()

    def wait(self, run_id: str) -> None:
        """A call has come; returns when it may be answered."""
        with self._lock:
            self._asked[run_id] += 1
        self._gate.wait(self._takes_s)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = CONNECTIONS
    target: Target

    def handle_error(self, request: object, client_address: object) -> None:
        """A worker that was killed does not wait for its answer."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.server.target.wait(self.headers["Idempotency-Key"])
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — the base class's
        """Nothing."""


@contextmanager
def target(takes_s: float | None = None) -> Iterator[Target]:
    """A target on a free port. `takes_s`: after so long it answers by itself."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.target = Target(server.server_address[1], takes_s)
    thread = Thread(target=server.serve_forever, name="target")
    thread.start()
    try:
        yield server.target
    finally:
        server.target.let_go()
        server.shutdown()
        server.server_close()
        thread.join()
