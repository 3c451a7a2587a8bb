"""What the gateway has to learn from Kafka before it begins; it waits for that, and says so."""

import logging
from collections.abc import Callable
from threading import Event

from tocsin.broker.errors import BrokerError, Die, Retry
from tocsin_gateway.access.reader import TokenReader
from tocsin_gateway.access.tokens import TokenDirectory
from tocsin_gateway.projection.progress import Progress

log = logging.getLogger(__name__)

_PAUSE_S = 2.0
_STEP_S = 1.0


class Stopped(Exception):
    """The gateway was told to stop while it waited."""


def await_topics(require_topics: Callable[[], None], progress: Progress, stop: Event) -> None:
    """Return when the topics are as they must be, or `stop` is set; why it waits is meanwhile the
    problem of `progress`.

    `require_topics` asks Kafka, and raises `BrokerError`s; those that do not pass leave from here.
    """
    while not stop.is_set():
        try:
            require_topics()
        except Retry as error:
            progress.problem = _waits(error)
            stop.wait(_PAUSE_S)
        else:
            progress.problem = None
            return


def await_tokens(reader: TokenReader, tokens: TokenDirectory, stop: Event) -> bool:
    """Whether the log has any token; a log that cannot be read for good has none.

    Blocks until that is known, and says in the log what it waits for. Raises `Stopped`.
    """
    while not stop.is_set():
        try:
            reader.open()
            while not tokens.complete and not stop.is_set():
                reader.step(_STEP_S)
        except Die:
            return False
        except BrokerError as error:
            reader.close()
            _waits(error)
            stop.wait(_PAUSE_S)
        if tokens.complete:
            return tokens.is_used
    raise Stopped


def _waits(error: BrokerError) -> str:
    reason = f"waiting for Kafka: {error}"
    log.warning("%s", reason, extra={"action": "waiting_for_kafka"})
    return reason
