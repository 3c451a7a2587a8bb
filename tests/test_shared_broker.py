"""Test processes that run side by side share one broker."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from tests.shared_broker import shared_broker
from tocsin.broker.local import BrokerAddress


def never() -> AbstractContextManager[BrokerAddress]:
    raise AssertionError("a second broker is started")


def follow(folder: Path, pipe: Connection) -> None:
    """Another process: say where the broker is, and use it until told to leave."""
    with shared_broker(folder, never) as broker:
        pipe.send(broker.bootstrap)
        pipe.recv()
        (folder / "follower left").touch()


def test_the_first_starts_the_broker_and_stops_it_when_the_last_has_left(tmp_path: Path) -> None:
    @contextmanager
    def start() -> Iterator[BrokerAddress]:
        yield BrokerAddress("127.0.0.1:9092")
        assert (tmp_path / "follower left").exists()
        (tmp_path / "stopped").touch()

    here, there = get_context("spawn").Pipe()
    follower = get_context("spawn").Process(target=follow, args=(tmp_path, there))
    with shared_broker(tmp_path, start) as broker:
        follower.start()
        assert here.recv() == broker.bootstrap == "127.0.0.1:9092"
        here.send("leave")
    follower.join(10)
    assert follower.exitcode == 0
    assert (tmp_path / "stopped").exists()
