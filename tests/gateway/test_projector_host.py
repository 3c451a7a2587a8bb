"""The host of the projector's process, with programs that only play one."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from tocsin import clock
from tocsin.broker.port import TopicPartition
from tocsin.metrics import Metrics
from tocsin_gateway.projection.audience import LocalAudience
from tocsin_gateway.projection.database import Database, open_database, sqlite_url
from tocsin_gateway.projection.progress import Demand
from tocsin_gateway.projector_process.host import PROGRAM, ProjectorEnded, ProjectorHost
from tocsin_gateway.projector_process.messages import Start

PATIENCE_MS = 60_000
JOBS = TopicPartition("tocsin.jobs", 0)
PLAY = """
import socket, sys, time
import msgspec
from tocsin.broker.port import TopicPartition
from tocsin_gateway.projection.audience import Advance
from tocsin_gateway.projector_process.messages import *
channel = socket.socket(fileno=int(sys.argv[1]))
sender = Sender(channel)
start = Receiver(channel, msgspec.msgpack.Decoder(Start)).receive()
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(sqlite_url(tmp_path / "gateway.sqlite"), clock.now_ms())
    yield opened
    opened.close()


class Hosted:
    """A host on a thread; `play` is what its program does once it has heard its start."""

    def __init__(self, database: Database) -> None:
        self.metrics = Metrics()
        self.audience = LocalAudience("tocsin.outcomes", self.metrics)
        self.ended: list[ProjectorEnded] = []
        self._database = database
        self._host: ProjectorHost | None = None
        self._thread: Thread | None = None

    def play(self, play: str, *, silence: float = 60.0) -> None:
        self.run((sys.executable, "-c", PLAY + play), silence=silence)

    def run(self, program: tuple[str, ...], *, url: str = "", silence: float = 60.0) -> None:
        start = Start(
            bootstrap="127.0.0.1:1",
            kafka={"sasl.password": "s3cret"},
            prefix="tocsin.",
            database_url=url,
            history_age_ms=1,
            history_runs=1,
        )
        host = ProjectorHost(
            start,
            self.audience,
            self._database,
            program=program,
            first_pause=0.01,
            silence=silence,
        )
        self._host, self._thread = host, Thread(target=self._guarded)
        self._thread.start()

    def stop(self) -> None:
        if self._host is not None and self._thread is not None:
            self._host.stop()
            self._thread.join()

    def until(self, met: Callable[[], object]) -> None:
        end = clock.monotonic_ms() + PATIENCE_MS
        while not met():
            assert clock.monotonic_ms() < end, "it never came to be"

    @property
    def problem(self) -> str:
        return self.audience.progress.problem or ""

    @property
    def deaths(self) -> float:
        value = self.metrics.registry.get_sample_value(
            "tocsin_alarms_total", {"action": "projector_died"}
        )
        assert value is not None
        return value

    def _guarded(self) -> None:
        assert self._host is not None
        try:
            self._host.run()
        except ProjectorEnded as error:
            self.ended.append(error)


@pytest.fixture
def hosted(database: Database) -> Iterator[Hosted]:
    made = Hosted(database)
    yield made
    made.stop()


def test_what_it_tells_reaches_the_requests(hosted: Hosted) -> None:
    passed = hosted.audience.progress.passed(JOBS, 4)
    hosted.play("""
sender.send(Trouble("x"))
sender.send(Started([("tocsin.jobs", 0, 4)]))
demand = channel.recv(1)
sender.send(Reported(Advance(reached={TopicPartition("tocsin.jobs", 0): 5}, runs=("r",))))
while channel.recv(1): pass
""")
    passed.result(PATIENCE_MS / 1000)

    assert hosted.problem == ""
    assert hosted.audience.progress.demand is Demand.NONE


def test_demand_that_is_left_is_told_again(hosted: Hosted) -> None:
    first = hosted.audience.progress.passed(JOBS, 4)
    second = hosted.audience.progress.passed(JOBS, 9)
    hosted.play("""
assert channel.recv(1) == b"\\x02"
sender.send(Reported(Advance(reached={TopicPartition("tocsin.jobs", 0): 5})))
heard = b""
while heard.count(b"\\x01") < 2: heard += channel.recv(10)
sender.send(Reported(Advance(reached={TopicPartition("tocsin.jobs", 0): 10})))
while channel.recv(1): pass
""")
    first.result(PATIENCE_MS / 1000)

    second.result(PATIENCE_MS / 1000)


@pytest.mark.parametrize(
    "play", ["sys.exit(3)", "channel.sendall(b'\\0\\0\\0\\1x'); channel.recv(9)", "1 / 0"]
)
def test_one_that_dies_or_talks_nonsense_is_started_again_and_counted(
    hosted: Hosted, play: str
) -> None:
    hosted.play(play)
    hosted.until(lambda: hosted.deaths >= 2)

    assert "started again" in hosted.problem
    assert not hosted.ended


def test_one_that_cannot_be_started_is_tried_again(hosted: Hosted) -> None:
    hosted.run(("/nowhere/python",))
    hosted.until(lambda: hosted.deaths >= 2)

    assert "cannot be started" in hosted.problem


def test_one_that_ends_for_good_ends_the_host_with_its_reason(hosted: Hosted) -> None:
    hosted.play("sender.send(Ended('topics are missing', 2))")
    hosted.until(lambda: hosted.ended)

    assert (str(hosted.ended[0]), hosted.ended[0].exit_code) == ("topics are missing", 2)
    assert hosted.deaths == 0


def test_one_that_says_nothing_is_told_of_until_it_speaks(hosted: Hosted) -> None:
    hosted.play(
        "time.sleep(2); sender.send(Alive()); time.sleep(0.2); sender.send(Alive()); "
        "channel.recv(9); channel.recv(9)",
        silence=1.0,
    )
    hosted.until(lambda: "said nothing" in hosted.problem)
    hosted.until(lambda: not hosted.problem)

    assert hosted.deaths == 0


def test_a_stop_ends_it_while_it_starts(hosted: Hosted) -> None:
    hosted.play("channel.recv(9)")
    hosted.stop()

    assert hosted.deaths == 0


def test_a_database_that_is_away_is_trouble_and_no_end(hosted: Hosted) -> None:
    """The real program."""
    hosted.run(PROGRAM, url="sqlite:////nowhere/at/all/gateway.sqlite")
    hosted.until(lambda: hosted.deaths >= 1)

    assert not hosted.ended


def test_a_start_hides_its_secrets() -> None:
    start = Start(
        bootstrap="b",
        kafka={"sasl.password": "s3cret"},
        prefix="p",
        database_url="postgresql://u:s3cret@h/d",
        history_age_ms=1,
        history_runs=1,
    )

    assert "s3cret" not in repr(start)
