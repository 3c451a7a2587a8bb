"""The projector's program: `python -m tocsin_gateway.projector_process FD`.

main thread   the projector, until the gateway has gone
demand        hears from the gateway whether somebody waits
housekeeper   keeps the write-ahead log of SQLite small
"""

import logging
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from threading import Condition, Event, Thread

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from tocsin import __version__, clock, interpreter
from tocsin.broker.errors import BrokerError
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.port import TopicPartition
from tocsin.logs import configure_logging
from tocsin.wire.topics import Topics
from tocsin_gateway.exit_codes import FAILED, exit_code
from tocsin_gateway.projection.audience import Advance
from tocsin_gateway.projection.database import Database, open_database
from tocsin_gateway.projection.progress import Demand
from tocsin_gateway.projection.projector import Projector
from tocsin_gateway.projection.retention import Retention
from tocsin_gateway.projection.tables import SCHEMA_VERSION
from tocsin_gateway.projector_process.messages import (
    Alive,
    BegunAnew,
    Ended,
    Gone,
    Receiver,
    Reported,
    Sender,
    Start,
    Started,
    Trouble,
)

log = logging.getLogger(__package__)

_LOG_S = 3.0
_GRACE_S = 15.0


class DemandHeard:
    """The last that the gateway said of its demand; `gone` when it says nothing any more."""

    def __init__(self, channel: socket.socket) -> None:
        self.gone = Event()
        self._channel = channel
        self._changed = Condition()
        self._demand = Demand.NONE

    def listen(self) -> None:
        """Until the gateway has gone; then the process has a while to end."""
        try:
            while said := self._hear():
                self._note(Demand(said[-1]))
        finally:
            self.gone.set()
            self._note(Demand.NONE)

    def forget(self) -> None:
        """What is told now may be all that one waited for; the gateway says so where it is not. Of
        a crowd there are others."""
        if self._demand is Demand.ONE:
            self._demand = Demand.NONE

    def wait(self, timeout: float) -> Demand:
        """Blocks until there is some or the gateway has gone, at most `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._demand or self.gone.is_set(), timeout)
            return self._demand

    def _note(self, demand: Demand) -> None:
        with self._changed:
            self._demand = demand
            self._changed.notify_all()

    def _hear(self) -> bytes:
        try:
            return self._channel.recv(4096)
        except OSError:
            return b""


class RemoteAudience:
    """Tells the gateway."""

    def __init__(self, sender: Sender, demand: DemandHeard) -> None:
        self._sender = sender
        self._demand = demand

    def begin_anew(self, generation: int) -> None:
        self._sender.send(BegunAnew(generation))

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        self._sender.send(Started([(*tp, offset) for tp, offset in positions.items()]))

    def tell(self, advance: Advance) -> None:
        self._demand.forget()
        self._sender.send(Reported(advance))

    def alive(self) -> None:
        self._sender.send(Alive())

    def trouble(self, reason: str | None) -> None:
        self._sender.send(Trouble(reason))

    def await_demand(self, timeout: float) -> Demand:
        return self._demand.wait(timeout)


class OtherVersion(Exception):
    """This program was installed while the gateway ran."""


def main(channel: socket.socket) -> int:
    """Until the gateway at the other end has gone; the exit code."""
    configure_logging()
    sender = Sender(channel)
    try:
        start = Receiver(channel, msgspec.msgpack.Decoder(Start)).receive()
        _check_version(start)
        _project(start, channel, sender)
    except Gone:
        return 0
    except (SQLAlchemyError, OSError) as error:
        reason = f"the database of the read model: {error.__cause__ or error}"
        log.error("%s", reason, extra={"action": "projector_failed"})
        return _leave(sender, Trouble(reason), FAILED)
    except Exception as error:
        is_known = isinstance(error, BrokerError | OtherVersion)
        log.critical("%s", error, exc_info=not is_known, extra={"action": "projector_failed"})
        return _leave(sender, Ended(str(error), exit_code(error)), exit_code(error))
    return 0


def _leave(sender: Sender, last: Ended | Trouble, code: int) -> int:
    with suppress(Gone):
        sender.send(last)
    return code


def _check_version(start: Start) -> None:
    if (start.version, start.schema_version) != (__version__, SCHEMA_VERSION):
        raise OtherVersion(
            f"Tocsin {__version__} was installed under a gateway of {start.version}: the gateway "
            "has to be started again"
        )


def _project(start: Start, channel: socket.socket, sender: Sender) -> None:
    demand = DemandHeard(channel)
    for work in (demand.listen, partial(_end_in_time, demand.gone)):
        Thread(target=work, daemon=True).start()
    database = open_database(start.database_url, clock.now_ms())
    projector = Projector(
        KafkaCluster(start.bootstrap, start.kafka, client_id="tocsin-gateway-projector"),
        database,
        Topics(start.prefix),
        RemoteAudience(sender, demand),
        clock=clock,
        retention=Retention(age_ms=start.history_age_ms, runs_a_job=start.history_runs),
    )
    Thread(target=_keep_house, args=(database, demand.gone), daemon=True).start()
    interpreter.tune()
    projector.run(demand.gone)


def _keep_house(database: Database, gone: Event) -> None:
    """A failure passes: the log is larger then, and the projector moves it at last."""
    while not gone.wait(_LOG_S):
        try:
            database.move_log()
        except (sqlite3.Error, SQLAlchemyError) as error:
            log.warning("the log of the read model: %s", error, extra={"action": "log_not_moved"})


def _end_in_time(gone: Event) -> None:
    """Nobody would miss a projector that hangs without its gateway, or stop it."""
    gone.wait()
    Event().wait(_GRACE_S)
    os._exit(1)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(main(socket.socket(fileno=int(sys.argv[1]))))
