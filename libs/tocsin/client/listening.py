"""Hearing what happens over a connection that may break, without I/O (WHATWG HTML §9.2).

The gateway says with each event, and every 15 seconds without one, which place in the log it has
come to; who connects again names it, and nothing is missing or told twice.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import httpx
import msgspec

from tocsin.client.errors import Unreachable, error_of
from tocsin.client.exchange import is_passing, pause_before, problem_of, unreachable
from tocsin.client.models import LiveEvent

_PATH: Final = "/v1/events"

_SILENCE_S: Final = 45.0
"""Three signs of life are missing."""


class Listening:
    """One stream of events over as many connections as it takes.

    Send `request`; give each line of the answer to `read`; when it ends or breaks, tell so, wait as
    long as that says, and send the next.
    """

    def __init__(
        self,
        retries: int,
        job_id: str | None = None,
        types: str | Sequence[str] = (),
        after: str | None = None,
    ) -> None:
        self._retries = retries
        self._tried = 0
        self._place = after
        self._fields: dict[str, str] = {}
        self._query: Mapping[str, str | list[str]] = {
            **({} if job_id is None else {"job_id": job_id}),
            "type": [types] if isinstance(types, str) else list(types),
        }

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """For what comes behind the last place told. It may be silent for as long as signs of life
        take; all other times are the connection's own."""
        place = {} if self._place is None else {"Last-Event-ID": self._place}
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store", **place}
        default = http.timeout
        timeout = httpx.Timeout(
            connect=default.connect, write=default.write, pool=default.pool, read=_SILENCE_S
        )
        return http.build_request(
            "GET", _PATH, params=self._query, headers=headers, timeout=timeout
        )

    def read(self, line: str) -> LiveEvent | None:
        """The event that the line ends, if it does. Raises `Unreachable` for what is none."""
        self._tried = 0
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        self._place = fields.get("id", self._place)
        if "data" not in fields:
            return None
        try:
            event = msgspec.json.decode(fields["data"], type=LiveEvent)
        except msgspec.DecodeError as error:
            raise Unreachable(f"what came is no event of a gateway: {error}") from None
        return msgspec.structs.replace(event, id=self._place or "")

    def refused(self, answer: httpx.Response) -> float:
        """The gateway has answered with a problem: the seconds to wait. Raises the `ApiError`
        where it will not pass."""
        self._tried += 1
        if self._tried > self._retries or not is_passing(answer):
            raise error_of(problem_of(answer))
        return self._again()

    def broken(self, request: httpx.Request, error: httpx.TransportError) -> float:
        """The connection broke, or there was none: the seconds to wait. Raises `Unreachable` after
        as many tries in a row as were allowed."""
        self._tried += 1
        if self._tried > self._retries:
            raise unreachable(request, error) from error
        return self._again()

    def ended(self) -> float:
        """The gateway has ended the stream, to stop: the seconds to wait."""
        self._tried += 1
        return self._again()

    def _again(self) -> float:
        self._fields = {}
        return pause_before(self._tried)
