"""One call and its repetitions, without I/O: what to send, and what to make of what comes back.

Every call is tried again where it certainly had no effect. Where that is not known, what may stand
twice is sent again, and most of the rest too, because it carries an idempotency key: the gateway
answers what it has answered before. Of bulk commands and new tokens it keeps no answer: those are
not sent again.
"""

import random
from collections.abc import Mapping
from typing import Final, Generic, TypeVar
from uuid import uuid4

import httpx
import msgspec

from tocsin import clock
from tocsin.client.calls import Call, Nothing
from tocsin.client.errors import ProblemDetails, StillRunning, Unreachable, error_of
from tocsin.client.models import RunDetail
from tocsin.model.strict_json import dumps

T = TypeVar("T")

IDEMPOTENCY_KEY: Final = "Idempotency-Key"

_AGAIN: Final = frozenset({429, 502, 503, 504})
_IN_FLIGHT: Final = "/problems/in-flight"
_NOT_READY: Final = "/problems/not-ready"
_NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0
_FIRST_LOOK_S: Final = 0.05
_LONGEST_LOOK_S: Final = 1.0


class Exchange(Generic[T]):
    """Send `request`, tell `next_step` what came of it, and do what that says."""

    def __init__(self, call: Call[T], http: httpx.Client | httpx.AsyncClient, retries: int) -> None:
        self._call = call
        self._retries = retries
        self._tried = 0
        self.request = http.build_request(
            call.method,
            call.path,
            params={name: value for name, value in call.query.items() if value is not None},
            content=None if call.body is None else dumps(call.body),
            headers=_headers(call),
            timeout=httpx.USE_CLIENT_DEFAULT if call.timeout is None else call.timeout,
        )

    def next_step(self, outcome: httpx.Response | httpx.TransportError) -> T | float:
        """The answer's value, or the seconds to wait before the request is sent again.

        Raises `Unreachable`, and the `ApiError` that fits the answer.
        """
        self._tried += 1
        may_again = self._call.repeatable or self._call.is_kept or had_no_effect(outcome)
        has_more_tries = self._tried <= self._retries and may_again
        if isinstance(outcome, httpx.TransportError):
            if not may_again:
                raise lost(self.request, outcome) from outcome
            if not has_more_tries:
                raise unreachable(self.request, outcome) from outcome
            return pause_before(self._tried)
        if has_more_tries and is_passing(outcome):
            return max(pause_before(self._tried), _asked_for(outcome))
        return self._value(outcome)

    def _value(self, answer: httpx.Response) -> T:
        call = self._call
        is_second_delete = call.method == "DELETE" and self._tried > 1
        if is_second_delete and answer.status_code == 404:
            return call.kind()  # the first one has deleted it
        if not answer.is_success:
            raise error_of(problem_of(answer))
        if call.kind is Nothing:
            return call.kind()
        try:
            return msgspec.json.decode(answer.content, type=call.kind)
        except msgspec.DecodeError as error:
            place = _without_password(answer.url)
            raise Unreachable(f"{place} did not answer as a gateway: {error}") from None


class Watch:
    """Waiting for the end of a run by looking again and again."""

    def __init__(self, run_id: str, timeout: float) -> None:
        """`timeout`: seconds."""
        self._run_id = run_id
        self._timeout = timeout
        self._until = clock.monotonic_ms() + round(timeout * 1000)
        self._pause = _FIRST_LOOK_S

    def next_look(self, run: RunDetail | None) -> float:
        """Seconds until the next look; raises `StillRunning` where there is none."""
        left = (self._until - clock.monotonic_ms()) / 1000
        if left <= 0:
            status = "not known yet" if run is None else run.status
            raise StillRunning(f"the run {self._run_id} is {status} after {self._timeout:g} s")
        pause = min(self._pause, left)
        self._pause = min(self._pause * 1.5, _LONGEST_LOOK_S)
        return pause


def _headers(call: Call[T]) -> Mapping[str, str]:
    headers = dict(call.headers)
    if call.body is not None:
        headers["Content-Type"] = call.media_type
    if not call.repeatable and call.is_kept:
        headers[IDEMPOTENCY_KEY] = str(uuid4())
    return headers


def problem_of(answer: httpx.Response) -> ProblemDetails:
    """What the gateway says is wrong; of somebody else's answer at least the status."""
    try:
        problem = msgspec.json.decode(answer.content, type=ProblemDetails)
    except msgspec.DecodeError:
        place = _without_password(answer.url)
        problem = ProblemDetails(detail=f"{place} answered {answer.status_code}")
    return msgspec.structs.replace(problem, status=answer.status_code)


def is_passing(answer: httpx.Response) -> bool:
    """Another try may do better: not now, or a try before this one is still being carried out."""
    if answer.status_code in _AGAIN:
        return True
    return answer.status_code == 409 and problem_of(answer).type == _IN_FLIGHT


def had_no_effect(outcome: httpx.Response | httpx.TransportError) -> bool:
    """Whether the gateway certainly did nothing of what was asked."""
    if isinstance(outcome, httpx.TransportError):
        return isinstance(outcome, _NEVER_SENT)
    return outcome.status_code == 429 or problem_of(outcome).type == _NOT_READY


def _asked_for(answer: httpx.Response) -> float:
    """The seconds that the gateway asks to be left alone for, if they are few."""
    text = answer.headers.get("Retry-After", "")
    return min(float(text), _LONGEST_PAUSE_S) if text.isdecimal() else 0.0


def pause_before(tried: int) -> float:
    """Seconds before the next try: exponential, with half of it left to chance."""
    longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** (tried - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def unreachable(request: httpx.Request, error: httpx.TransportError) -> Unreachable:
    """The error for a call without an answer."""
    return Unreachable(
        f"{_place(request.url)} does not answer: {error}; "
        "is the gateway running? (TOCSIN_GATEWAY_URL)"
    )


def lost(request: httpx.Request, error: httpx.TransportError) -> Unreachable:
    """The error for a call without an answer that must not be sent again."""
    return Unreachable(
        f"{_place(request.url)} gave no answer: {error}; how much of this "
        "was done is not known, so it was not tried again: look before you repeat it"
    )


def _place(url: httpx.URL) -> str:
    return f"{url.host}:{url.port or (443 if url.scheme == 'https' else 80)}"


def _without_password(url: httpx.URL) -> httpx.URL:
    return url.copy_with(userinfo=b"")
