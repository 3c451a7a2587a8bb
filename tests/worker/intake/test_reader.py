"""A reading thread hands over what is allowed, commits what it is told, stays in its group."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager

import pytest

from tests.worker.shared_cluster import SharedCluster
from tests.worker.support import TOPICS, memory_cluster
from tocsin.broker.errors import BrokerError, BrokerUnreachable, Die, Fenced, Retry
from tocsin.broker.port import Cluster, Record, TopicPartition
from tocsin.testing import MemoryCluster
from tocsin_worker.intake.mailbox import Mailbox, Offsets
from tocsin_worker.intake.reader import RunsReader

TOPIC = TOPICS.runs("normal")
GROUP = "group"
PLACE = TopicPartition(TOPIC, 0)
PATIENCE = 30.0


class Events:
    """Notes what the reader tells; `until` waits for it."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.told: list[str] = []
        self.records: list[bytes | None] = []
        self.ends: list[Mapping[int, int | None]] = []
        self.error: BrokerError | None = None
        self.to_release: Offsets = {}
        self._mailbox = mailbox
        self._news = asyncio.Event()

    def joined(self) -> None:
        self._note("joined")

    def assigned(self, ends: Mapping[int, int | None]) -> None:
        self.ends.append(ends)
        self._note("assigned")

    def received(self, records: list[Record]) -> None:
        self._mailbox.arrived(len(records))
        self.records += [record.value for record in records]
        self._note("received")

    def committed(self, offsets: Offsets) -> None:
        self._note("committed")

    async def release(self, partitions: Collection[int]) -> Offsets:
        self._note("release")
        return self.to_release

    def dropped(self, partitions: Collection[int]) -> None:
        self._note("dropped")

    def failed(self, error: BrokerError) -> None:
        self.error = error
        self._note("failed")

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def _note(self, what: str) -> None:
        self.told.append(what)
        self._news.set()


class Scene:
    def __init__(self, memory: MemoryCluster) -> None:
        self.memory = memory
        self.cluster = SharedCluster(memory)
        self.mailbox = Mailbox()
        self.events = Events(self.mailbox)

    def write(self, *values: bytes) -> None:
        producer = self.cluster.producer()
        for value in values:
            producer.produce(TOPIC, b"k", value)

    @property
    def committed(self) -> int | None:
        return self.memory.log_reader(GROUP).committed([PLACE], 1)[PLACE].offset


@asynccontextmanager
async def reading(scene: Scene) -> AsyncIterator[RunsReader]:
    cluster: Cluster = scene.cluster  # type: ignore[assignment]  # as far as a reader uses it
    loop = asyncio.get_running_loop()
    reader = RunsReader(cluster, TOPIC, GROUP, scene.mailbox, scene.events, loop)
    reader.start()
    try:
        yield reader
    finally:
        scene.mailbox.stop()
        assert await asyncio.to_thread(reader.join, PATIENCE)


def play(scenario: Callable[[Scene], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario(Scene(memory_cluster()))

    asyncio.run(main())


def test_it_joins_is_assigned_and_tells_where_the_log_ended() -> None:
    async def scenario(scene: Scene) -> None:
        scene.write(b"a", b"b")
        async with reading(scene):
            await scene.events.until(lambda: "assigned" in scene.events.told)
        assert scene.events.told == ["joined", "assigned", "release", "dropped"]
        assert scene.events.ends == [{0: 2}]

    play(scenario)


def test_an_end_that_cannot_be_found_out_is_told_as_unknown() -> None:
    async def scenario(scene: Scene) -> None:
        scene.memory.faults.plan("end_offsets", BrokerUnreachable("gone"))
        async with reading(scene):
            await scene.events.until(lambda: "assigned" in scene.events.told)
        assert scene.events.ends == [{0: None}]

    play(scenario)


def test_it_hands_over_no_more_than_there_is_room_for() -> None:
    async def scenario(scene: Scene) -> None:
        scene.write(*(b"%d" % n for n in range(10)))
        async with reading(scene):
            scene.mailbox.allow(3)
            await scene.events.until(lambda: len(scene.events.records) == 3)
            scene.mailbox.allow(0)
            scene.mailbox.allow(7)
            await scene.events.until(lambda: len(scene.events.records) == 10)
        assert scene.events.records == [b"%d" % n for n in range(10)]

    play(scenario)


def test_records_under_way_count_as_handed_over() -> None:
    mailbox = Mailbox()
    mailbox.allow(10)
    mailbox.sent(4)
    mailbox.allow(10)
    assert mailbox.room == 6
    mailbox.arrived(4)
    mailbox.allow(10)
    assert mailbox.room == 10


def test_without_room_it_reads_nothing_and_stays_in_its_group() -> None:
    async def scenario(scene: Scene) -> None:
        scene.write(b"a")
        async with reading(scene):
            await scene.events.until(lambda: "assigned" in scene.events.told)
            (consumer,) = scene.cluster.consumers
            async with asyncio.timeout(PATIENCE):
                while not consumer.paused:  # noqa: ASYNC110 - it happens in the reader's thread
                    await asyncio.sleep(0.01)
            assert scene.events.records == []
            scene.mailbox.allow(1)
            await scene.events.until(lambda: scene.events.records == [b"a"])
        assert scene.events.told.count("assigned") == 1

    play(scenario)


def test_it_commits_and_tells() -> None:
    async def scenario(scene: Scene) -> None:
        scene.write(b"a", b"b")
        async with reading(scene):
            scene.mailbox.allow(9)
            await scene.events.until(lambda: len(scene.events.records) == 2)
            scene.mailbox.commit({0: 2})
            await scene.events.until(lambda: "committed" in scene.events.told)
            assert scene.committed == 2

    play(scenario)


@pytest.mark.parametrize("error", [Fenced("a rebalance"), Retry("busy"), BrokerUnreachable("gone")])
def test_b147_a_commit_that_fails_is_done_again(error: BrokerError) -> None:
    async def scenario(scene: Scene) -> None:
        scene.write(b"a")
        async with reading(scene):
            scene.mailbox.allow(9)
            await scene.events.until(lambda: len(scene.events.records) == 1)
            scene.memory.faults.plan("commit_offsets", error)
            scene.mailbox.commit({0: 1})
            await scene.events.until(lambda: "committed" in scene.events.told)
            assert scene.committed == 1
        assert scene.events.told.count("assigned") == 1, "it has not left its group for that"

    play(scenario)


def test_a_passing_fault_of_a_poll_is_waited_out() -> None:
    async def scenario(scene: Scene) -> None:
        scene.memory.faults.plan("poll_batch", BrokerUnreachable("gone"))
        scene.write(b"a")
        async with reading(scene):
            scene.mailbox.allow(9)
            await scene.events.until(lambda: scene.events.records == [b"a"])

    play(scenario)


def test_put_out_of_the_group_it_drops_everything_and_joins_again() -> None:
    async def scenario(scene: Scene) -> None:
        scene.write(b"a")
        async with reading(scene):
            scene.mailbox.allow(9)
            await scene.events.until(lambda: len(scene.events.records) == 1)
            scene.cluster.consumers[-1].consumer.expire()
            await scene.events.until(lambda: len(scene.events.records) == 2)
        told = [event for event in scene.events.told if event != "received"]
        assert told == ["joined", "assigned", "dropped", "assigned", "release", "dropped"]

    play(scenario)


def test_fenced_in_a_poll_it_becomes_a_new_member() -> None:
    async def scenario(scene: Scene) -> None:
        async with reading(scene):
            await scene.events.until(lambda: "assigned" in scene.events.told)
            scene.memory.faults.plan("poll_batch", Fenced("put out"))
            await scene.events.until(lambda: scene.events.told.count("assigned") == 2)
        assert len(scene.cluster.consumers) == 2

    play(scenario)


def test_what_no_repetition_helps_is_told_and_ends_the_reader() -> None:
    async def scenario(scene: Scene) -> None:
        scene.memory.faults.plan("poll_batch", Die("no rights"))
        async with reading(scene):
            await scene.events.until(lambda: "failed" in scene.events.told)
        assert scene.events.error is not None
        assert scene.events.error.reason == "no rights"

    play(scenario)


def test_leaving_it_commits_what_was_released() -> None:
    async def scenario(scene: Scene) -> None:
        scene.write(b"a", b"b")
        scene.events.to_release = {0: 1}
        async with reading(scene):
            await scene.events.until(lambda: "assigned" in scene.events.told)
        assert scene.committed == 1

    play(scenario)


def test_a_commit_asked_for_a_partition_that_has_gone_is_forgotten() -> None:
    mailbox = Mailbox()
    mailbox.commit({0: 5, 1: 7})
    mailbox.drop_offsets([0])
    assert mailbox.take_offsets() == {1: 7}
    mailbox.commit({1: 9})
    mailbox.put_back({1: 7, 2: 3})
    assert mailbox.take_offsets() == {1: 9, 2: 3}
