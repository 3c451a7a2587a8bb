"""Signals: imperative commands for one job, each carried out once for a request."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple
from uuid import UUID, uuid4, uuid5

from tocsin.model.keys import JobKey
from tocsin.model.signal_json import check_signal
from tocsin.model.signals import Signal
from tocsin.wire.headers import Idempotency
from tocsin_gateway.commands.command_log import CommandLog
from tocsin_gateway.commands.requests import Requests

_REQUESTS = UUID("6f0c1d8e-5b0a-5d43-9a55-0f7d8a6b1c27")
"""The namespace of ids made of a job and an idempotency key; the same in all gateways."""


class Draft(NamedTuple):
    """What is to be sent. slots: of a backfill, as counted."""

    signal: Signal
    slots: int | None = None


class Sent(NamedTuple):
    """The signal that counts: its id and log timestamp. replayed: it stood in the log before."""

    signal_id: str
    time: int
    replayed: bool


Prepare = Callable[[str], Awaitable[Draft]]
"""Signal id -> what to send; raises `CommandError`s where it makes no sense."""


class Signals:
    """Sends signals. Where the request has a key, its id is made of it: the scheduler applies
    one id once, whichever gateways send it."""

    def __init__(self, log: CommandLog, requests: Requests) -> None:
        self._log = log
        self._requests = requests

    async def send(self, key: JobKey, request: Idempotency | None, prepare: Prepare) -> Sent:
        """Send what `prepare` says, unless the request was carried out before.

        Raises `CommandError`s and `InvalidSignal`.
        """
        signal_id = _signal_id(key, request)
        with self._requests.begun(key.tenant, request):
            first = await self._requests.first(key, request)
            if first is not None:
                return Sent(signal_id, first.record_time, True)
            draft = await prepare(signal_id)
            check_signal(draft.signal)
            delivered = await self._log.append_signal(key, draft.signal, request, draft.slots)
            first = await self._requests.earlier(key, request, delivered.offset)
            if first is not None:
                return Sent(signal_id, first.record_time, True)
            return Sent(signal_id, delivered.timestamp, False)


def _signal_id(key: JobKey, request: Idempotency | None) -> str:
    return str(uuid4() if request is None else uuid5(_REQUESTS, f"{key} {request.key}"))
