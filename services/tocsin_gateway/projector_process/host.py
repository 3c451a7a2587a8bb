"""Starts the projector's process, hears it, and starts it again when it dies."""

import logging
import socket
import subprocess
import sys
from threading import Event, Lock
from typing import assert_never

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from tocsin import clock
from tocsin.broker.port import TopicPartition
from tocsin_gateway.projection.audience import LocalAudience
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.progress import Demand
from tocsin_gateway.projector_process.messages import (
    BegunAnew,
    Ended,
    Gone,
    Message,
    Receiver,
    Sender,
    Start,
    Started,
    Told,
    Trouble,
)

log = logging.getLogger(__name__)

_GRACE_S = 10.0
_PAUSE_S = 1.0


class ProjectorEnded(Exception):
    """The projector has ended for good, and with it the gateway. Why stands in the log."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


class ProjectorHost:
    """`run` on a thread, `stop` from another.

    database: follows the projector's to another read model.
    """

    def __init__(self, start: Start, audience: LocalAudience, database: Database) -> None:
        self._start = start
        self._audience = audience
        self._database = database
        self._lock = Lock()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = Event()
        self._has_none = Event()
        self._has_none.set()
        audience.progress.listen(self._tell_demand)

    def run(self) -> None:
        """Until `stop`. Raises `ProjectorEnded`."""
        while not self._is_stopped.is_set():
            ended = self._live()
            if ended is not None:
                raise ProjectorEnded(ended.reason, ended.exit_code)
            self._is_stopped.wait(_PAUSE_S)

    def stop(self) -> None:
        """Let the projector end, and `run` return when it has: soon, or it is killed."""
        self._is_stopped.set()
        with self._lock:
            if self._channel is not None:
                self._channel.shutdown(socket.SHUT_WR)
        if not self._has_none.wait(_GRACE_S) and self._process is not None:
            self._process.kill()

    def _live(self) -> Ended | None:
        """One life of the process. Why it has ended, where that is for good."""
        own, its = socket.socketpair()
        with own:
            with its:
                process = self._begin(its)
            try:
                ended = self._talk(own)
            finally:
                own.close()
                code = process.wait()
                self._has_none.set()
        if ended is None and not self._is_stopped.is_set():
            reason = f"the projector has ended by itself with {code}; it is started again"
            log.error("%s", reason, extra={"action": "projector_died", "code": code})
            self._audience.trouble(reason)
        return ended

    def _begin(self, channel: socket.socket) -> "subprocess.Popen[bytes]":
        """Start the process, out of reach of what a terminal sends to all of its processes."""
        process = subprocess.Popen(  # noqa: S603 — our own program
            [sys.executable, "-m", __package__, str(channel.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[channel.fileno()],
            start_new_session=True,
        )
        self._process = process
        self._has_none.clear()
        log.info(
            "the projector has started, pid %d",
            process.pid,
            extra={"action": "projector_started", "pid": process.pid},
        )
        return process

    def _talk(self, channel: socket.socket) -> Ended | None:
        """Until the process has gone, or says that it has ended."""
        try:
            Sender(channel).send(self._start)
            self._open(channel)
            receiver: Receiver[Message] = Receiver(channel, msgspec.msgpack.Decoder(Message))
            while not isinstance(message := receiver.receive(), Ended):
                self._hear(message)
        except Gone:
            return None
        except SQLAlchemyError as error:
            log.warning("the read model: %s", error, extra={"action": "read_model_not_followed"})
            return None
        finally:
            self._close()
        return message

    def _hear(self, message: BegunAnew | Started | Told | Trouble) -> None:
        match message:
            case BegunAnew(generation):
                if generation != self._database.generation:
                    self._database.follow(clock.now_ms())
                self._audience.begin_anew(generation)
            case Started(positions):
                self._audience.start({TopicPartition(t, p): at for t, p, at in positions})
                self._audience.trouble(None)
            case Told(news):
                self._audience.tell(news)
            case Trouble(reason):
                self._audience.trouble(reason)
            case _:
                assert_never(message)

    def _open(self, channel: socket.socket) -> None:
        """From now on it hears of the demand, and of the end."""
        with self._lock:
            self._channel = channel
            if self._is_stopped.is_set():
                channel.shutdown(socket.SHUT_WR)
        self._tell_demand(self._audience.progress.demand)

    def _close(self) -> None:
        with self._lock:
            self._channel = None

    def _tell_demand(self, demand: Demand) -> None:
        """What cannot be told at once is not: a projector looks for work by itself as well."""
        with self._lock:
            if self._channel is not None:
                try:
                    self._channel.send(bytes([demand]), socket.MSG_DONTWAIT)
                except OSError:
                    return
