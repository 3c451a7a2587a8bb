"""Starts the projector's process, hears it, and starts it again when it dies."""

import logging
import select
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from threading import Event, Lock
from typing import assert_never

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from tocsin import clock
from tocsin.broker.port import TopicPartition
from tocsin_gateway.projection.audience import DIED, LocalAudience
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.progress import Demand
from tocsin_gateway.projector_process.messages import (
    Alive,
    BegunAnew,
    Ended,
    Gone,
    Message,
    Receiver,
    Reported,
    Sender,
    Start,
    Started,
    Trouble,
)

log = logging.getLogger(__name__)

PROGRAM = (sys.executable, "-P", "-m", __package__)
"""The socket's number is its argument. `-P`: nothing is imported from where one stands."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
_LASTING_MS = 60_000
_GRACE_S = 10.0
_SILENCE_S = 60.0


class ProjectorEnded(Exception):
    """The projector has ended for good, and with it the gateway. Why stands in the log."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


class ProjectorHost:
    """`run` on a thread, `stop` from another.

    database: follows the projector's to another read model. program: what is started, with the
    number of a socket behind it. first_pause, silence: seconds before it is started again, twice
    as many with each short life; and after which one that says nothing counts as hanging.
    """

    def __init__(
        self,
        start: Start,
        audience: LocalAudience,
        database: Database,
        *,
        program: Sequence[str] = PROGRAM,
        first_pause: float = FIRST_PAUSE_S,
        silence: float = _SILENCE_S,
    ) -> None:
        self._start = start
        self._audience = audience
        self._database = database
        self._program = program
        self._first_pause = self._pause = first_pause
        self._silence = silence
        self._is_silent = False
        self._lock = Lock()
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = Event()
        self._is_idle = Event()
        self._is_idle.set()
        audience.progress.listen(self._tell_demand)

    def run(self) -> None:
        """Until `stop`. Raises `ProjectorEnded`."""
        while not self._is_stopped.is_set():
            began = clock.monotonic_ms()
            ended = self._live()
            if ended is not None:
                raise ProjectorEnded(ended.reason, ended.exit_code)
            if clock.monotonic_ms() - began >= _LASTING_MS:
                self._pause = self._first_pause
            self._is_stopped.wait(self._pause)
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)

    def stop(self) -> None:
        """Let the projector end, and `run` return when it has: soon, or it is killed."""
        with self._lock:
            self._is_stopped.set()
            self._hang_up()
        if not self._is_idle.wait(_GRACE_S) and self._process is not None:
            self._process.kill()

    def _live(self) -> Ended | None:
        """One life of the process. Why it has ended, where that is for good."""
        try:
            own, process = self._begin()
        except OSError as error:
            self._tell_death(f"the projector cannot be started: {error}")
            return None
        if process is None:
            own.close()
            return None
        with own:
            try:
                ended = self._talk(own)
            finally:
                own.close()
                code = _end(process)
                self._is_idle.set()
        if ended is None and not self._is_stopped.is_set():
            self._tell_death(f"the projector has ended with {code}; it is started again", code)
        return ended

    def _begin(self) -> "tuple[socket.socket, subprocess.Popen[bytes] | None]":
        """Start the process, unless it is to stop, out of reach of what a terminal sends to all of
        its processes. Raises `OSError`."""
        own, its = socket.socketpair()
        with its, self._lock:
            if self._is_stopped.is_set():
                return own, None
            try:
                self._process = subprocess.Popen(  # noqa: S603 — our own program
                    [*self._program, str(its.fileno())],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[its.fileno()],
                    start_new_session=True,
                )
            except OSError:
                own.close()
                raise
            self._is_idle.clear()
        log.info(
            "the projector has started, pid %d",
            self._process.pid,
            extra={"action": "projector_started", "pid": self._process.pid},
        )
        return own, self._process

    def _talk(self, channel: socket.socket) -> Ended | None:
        """Until the process has gone, or says that it has ended."""
        try:
            Sender(channel).send(self._start)
            self._open(channel)
            receiver: Receiver[Message] = Receiver(channel, msgspec.msgpack.Decoder(Message))
            while not isinstance(message := self._next(channel, receiver), Ended):
                self._hear(message)
        except Gone:
            return None
        except (SQLAlchemyError, msgspec.MsgspecError) as error:
            log.warning(
                "the projector is left: %s",
                error,
                extra={"action": "projector_left"},
                exc_info=True,
            )
            return None
        finally:
            self._close()
        return message

    def _next(self, channel: socket.socket, receiver: "Receiver[Message]") -> Message:
        """What it says next. One that says nothing for long is told of, until it speaks."""
        while not select.select([channel], [], [], self._silence)[0]:
            self._is_silent = True
            self._audience.trouble(f"the projector has said nothing for {self._silence:g} s")
        if self._is_silent:
            self._is_silent = False
            self._audience.trouble(None)
        return receiver.receive()

    def _hear(self, message: Alive | BegunAnew | Started | Reported | Trouble) -> None:
        match message:
            case Alive():
                pass
            case BegunAnew(generation):
                if generation != self._database.generation:
                    self._database.follow(clock.now_ms())
                self._audience.begin_anew(generation)
            case Started(positions):
                self._audience.start({TopicPartition(t, p): at for t, p, at in positions})
                self._audience.trouble(None)
            case Reported(advance):
                self._audience.tell(advance)
                if self._audience.progress.demand is Demand.ONE:
                    self._tell_demand(Demand.ONE)
            case Trouble(reason):
                self._audience.trouble(reason)
            case _:
                assert_never(message)

    def _open(self, channel: socket.socket) -> None:
        """From now on it hears of the demand, and of the end."""
        with self._lock:
            self._channel = channel
            if self._is_stopped.is_set():
                self._hang_up()
        self._tell_demand(self._audience.progress.demand)

    def _close(self) -> None:
        with self._lock:
            self._channel = None

    def _hang_up(self) -> None:
        if self._channel is not None:
            with suppress(OSError):
                self._channel.shutdown(socket.SHUT_WR)

    def _tell_demand(self, demand: Demand) -> None:
        """What cannot be told at once is not: a projector looks for work by itself as well."""
        with self._lock:
            if self._channel is not None:
                with suppress(OSError):
                    self._channel.send(bytes([demand]), socket.MSG_DONTWAIT)

    def _tell_death(self, reason: str, code: int | None = None) -> None:
        log.error("%s", reason, extra={"action": DIED, "code": code})
        self._audience.died(reason)


def _end(process: "subprocess.Popen[bytes]") -> int:
    """The exit code of a process that nobody hears any more; one that goes on is killed."""
    try:
        return process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
