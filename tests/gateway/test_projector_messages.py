"""What goes through the socket between a gateway and its projector."""

import socket
from collections.abc import Iterator
from threading import Thread

import msgspec
import pytest

from tocsin.broker.port import TopicPartition
from tocsin.model.runs import Outcome
from tocsin_gateway.projection.audience import Advance
from tocsin_gateway.projection.outcome_tail import Said
from tocsin_gateway.projector_process.messages import (
    BegunAnew,
    Ended,
    Gone,
    Message,
    Receiver,
    Reported,
    Sender,
    Started,
    Trouble,
)

PLACE = TopicPartition("tocsin.outcomes", 3)
SUCCESS = Outcome(
    tenant="default",
    job_id="a",
    run_id="default.a.20260101T000000.000Z",
    attempt=1,
    kind="succeeded",
    worker="w",
    time=1,
    result=b"\x00\xff",
)
MESSAGES: list[Message] = [
    BegunAnew(4),
    Started([("tocsin.jobs", 0, 17)]),
    Reported(Advance(reached={})),
    Reported(
        Advance(
            reached={PLACE: 2**40, TopicPartition("tocsin.jobs", 0): 1},
            runs=("r1", "r2"),
            said=((3, Said(17, SUCCESS)),),
            records=9,
            foreign=("tocsin.jobs",),
            lag_ms=12,
            jobs_complete=True,
            history_complete=True,
        )
    ),
    Reported(Advance(reached={}, runs=tuple(f"run-{n}" for n in range(50_000)))),
    Trouble("the broker does not answer: é"),
    Trouble(None),
    Ended("topics are missing", 1),
]


@pytest.fixture
def channels() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def receiver(channel: socket.socket) -> "Receiver[Message]":
    return Receiver(channel, msgspec.msgpack.Decoder(Message))


def test_each_message_arrives_as_it_was_sent(
    channels: tuple[socket.socket, socket.socket],
) -> None:
    sender, its = Sender(channels[0]), receiver(channels[1])

    def send_all() -> None:
        for message in MESSAGES:
            sender.send(message)

    sending = Thread(target=send_all)
    sending.start()
    assert [its.receive() for _ in MESSAGES] == MESSAGES
    sending.join()


def test_nothing_behind_a_message_is_taken(channels: tuple[socket.socket, socket.socket]) -> None:
    Sender(channels[0]).send(Trouble("x"))
    channels[0].send(b"\x02")

    assert receiver(channels[1]).receive() == Trouble("x")
    assert channels[1].recv(10) == b"\x02"


@pytest.mark.parametrize("cut", [0, 2, 4, 6])
def test_an_end_in_the_middle_is_an_end(
    channels: tuple[socket.socket, socket.socket], cut: int
) -> None:
    body = msgspec.msgpack.encode(Trouble("x"))
    channels[0].send((len(body).to_bytes(4, "big") + body)[:cut])
    channels[0].close()

    with pytest.raises(Gone):
        receiver(channels[1]).receive()


def test_who_sends_to_nobody_learns_of_it(channels: tuple[socket.socket, socket.socket]) -> None:
    channels[1].close()

    with pytest.raises(Gone):
        Sender(channels[0]).send(Trouble(None))
