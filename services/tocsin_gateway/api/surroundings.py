"""What surrounds each request: its id, security headers, and how long it took."""

import re
from collections.abc import Awaitable, Callable
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tocsin import clock
from tocsin.metrics import Metrics

REQUEST_ID = "X-Request-Id"

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,100}")
_CONTENT_POLICY = (
    b"default-src 'self'; script-src 'self' 'unsafe-inline'; "
    b"style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
)
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", _CONTENT_POLICY),
)


AnswerError = Callable[[Request, Exception], Awaitable[Response]]


class Surroundings:
    """ASGI middleware around everything else; a defect ends here, as an answer like any other."""

    def __init__(self, app: ASGIApp, metrics: Metrics, answer_error: AnswerError) -> None:
        self._app = app
        self._metrics = metrics
        self._answer_error = answer_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id.decode()
        started, status = clock.monotonic_ms(), 0

        async def send_surrounded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = ((REQUEST_ID.lower().encode(), request_id), *_SECURITY_HEADERS)
                message["headers"] = [*message["headers"], *own]
            await send(message)

        try:
            await self._app(scope, receive, send_surrounded)
        except Exception as error:
            if status:
                raise
            answer = await self._answer_error(Request(scope), error)
            await answer(scope, receive, send_surrounded)
        finally:
            seconds = (clock.monotonic_ms() - started) / 1000
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.http_request.labels(scope["method"], route, str(status)).observe(seconds)


def _request_id(scope: Scope) -> bytes:
    """The caller's id, if it can stand in a log line, else a new one."""
    name = REQUEST_ID.lower().encode()
    given: bytes = next((value for key, value in scope["headers"] if key == name), b"")
    return given if _REQUEST_ID.fullmatch(given) else str(uuid4()).encode()
