"""Three schedulers, two workers, one broker, and everything that can happen to them, in an order
from a seed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from time import sleep

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.operator import Operator
from tests.faults.processes import Service
from tests.faults.stores import replace_stores
from tests.faults.waiting import until
from tocsin.broker.local import LocalBroker
from tocsin.broker.port import TopicPartition

NODES = ("a", "b", "c")
WORKERS = ("v", "w")
CONFLICT = 4
PAUSES_S = (0.2, 1.0, 2.5)
SHORT_FREEZE_S, LONG_FREEZE_S = 2.0, 9.0
"""Shorter and longer than the session of 6 s."""
FULL_DISK_S = 3.0
BURST_LEAD_MS = 1_000


class Storm:
    """`rage` does one thing; `calm` leaves all nodes running. told: what has happened so far.
    burst: how many jobs are due at the instant inside which everybody is killed."""

    def __init__(
        self, crew: Crew, installation: Installation, broker: LocalBroker, seed: int, burst: int
    ) -> None:
        self.told: list[str] = []
        self._crew = crew
        self._installation = installation
        self._broker = broker
        self._burst = burst
        self._operator = Operator(broker.bootstrap, installation.topics)
        self._random = Random(seed)
        self._disks = {name: crew.own_disk(name) for name in NODES}
        self._nodes: dict[str, Service] = {}
        self._workers: dict[str, Service] = {}
        self._slow: list[Callable[[], None]] = [self._kill_broker, self._stop_broker]
        self._quick: list[Callable[[], None]] = [
            self._kill,
            self._kill,
            self._kill,
            self._freeze_briefly,
            self._freeze_for_long,
            self._restart,
            self._kill_inside_an_instant,
            self._damage_store,
            self._bring_another_clusters_store,
            self._fill_disk,
            self._start_twice,
            self._delete_offsets,
            self._reset_offsets,
            self._make_signals_again,
            self._kill_worker,
            self._freeze_worker,
        ]
        self._left: list[Callable[[], None]] = []

    def rage(self) -> None:
        """Each kind once before any comes again, those that take long last."""
        self._left = self._left or [*self._shuffled(self._slow), *self._shuffled(self._quick)]
        kind = self._left.pop()
        self.told.append(kind.__name__.strip("_"))
        print(f"storm: {self.told[-1]}", flush=True)
        self._start_missing()
        kind()
        sleep(self._random.choice(PAUSES_S))

    def calm(self) -> frozenset[int]:
        """All nodes run, and whoever ends is started again; returns the partitions, all owned."""

        def all_owned() -> frozenset[int]:
            self._start_missing()
            owned = self._owned()
            return owned if len(owned) == PARTITIONS else frozenset()

        return until(all_owned, "every partition has an owner")

    def end(self) -> Iterator[Path]:
        """All schedulers stop, as an operator stops them; their disks."""
        for node in self._nodes.values():
            node.terminate()
        for node in self._nodes.values():
            assert node.exit_code() == 0
        yield from map(self._crew.disk, [*NODES, *map(_twin, NODES)])

    def _shuffled(self, kinds: list[Callable[[], None]]) -> list[Callable[[], None]]:
        return self._random.sample(kinds, len(kinds))

    def _owned(self) -> frozenset[int]:
        return frozenset(n for node in self._nodes.values() for n in node.owned())

    def _start_missing(self) -> None:
        for name in NODES:
            if name not in self._nodes or self._nodes[name].has_ended:
                self._nodes[name] = self._crew.scheduler(name, NODE_ID=name)
        for name in WORKERS:
            if name not in self._workers or self._workers[name].has_ended:
                self._workers[name] = self._crew.worker(name, NODE_ID=name)

    def _any(self) -> tuple[str, Service]:
        name = self._random.choice(NODES)
        return name, self._nodes[name]

    def _kill(self) -> None:
        self._any()[1].kill()

    def _kill_inside_an_instant(self) -> None:
        """All of them, when a good part of what is due at one instant is in the log."""
        installation = self._installation
        topic = installation.topics.runs("high")
        places = [TopicPartition(topic, number) for number in range(PARTITIONS)]

        def written() -> int:
            return sum(installation.high_watermarks(places).values())

        goal = written() + self._burst * self._random.uniform(0.1, 0.7)
        installation.put(installation.burst(self._burst, BURST_LEAD_MS))
        until(lambda: written() >= goal, "a part of the burst is written")
        for node in self._nodes.values():
            node.kill()

    def _freeze_briefly(self) -> None:
        _freeze(self._any()[1], SHORT_FREEZE_S)

    def _freeze_for_long(self) -> None:
        _freeze(self._any()[1], LONG_FREEZE_S)

    def _kill_worker(self) -> None:
        self._any_worker().kill()

    def _freeze_worker(self) -> None:
        _freeze(self._any_worker(), LONG_FREEZE_S)

    def _any_worker(self) -> Service:
        return self._workers[self._random.choice(WORKERS)]

    def _restart(self) -> None:
        node = self._any()[1]
        node.terminate()
        node.exit_code()

    def _damage_store(self) -> None:
        """Half of the files of a node that was killed hold something else."""
        name, node = self._any()
        node.kill()
        files = sorted(path for path in self._crew.disk(name).rglob("*") if path.is_file())
        for path in self._random.sample(files, len(files) // 2):
            if path.name != "lock":
                path.write_bytes(self._random.randbytes(100))

    def _bring_another_clusters_store(self) -> None:
        """As after a disk was copied, or a node was moved from one installation to another."""
        name, node = self._any()
        node.kill()
        replace_stores(self._crew.disk(name), self._crew.foreign_disk())

    def _fill_disk(self) -> None:
        """For a while. Whoever has won on another disk does not notice."""
        name, node = self._any()
        disk = self._disks[name]
        disk.fill(node.pid)
        sleep(FULL_DISK_S)
        disk.empty(node.pid)

    def _start_twice(self) -> None:
        """The same node id on another disk: one of the two ends, with a conflict."""
        name, first = self._any()
        second = self._crew.scheduler(_twin(name), NODE_ID=name)
        until(lambda: first.has_ended or second.has_ended, "one of the two ends")
        loser, winner = (first, second) if first.has_ended else (second, first)
        assert loser.exit_code() == CONFLICT
        self._nodes[name] = winner

    def _kill_broker(self) -> None:
        self._broker.kill()
        self._broker.restart()

    def _stop_broker(self) -> None:
        self._broker.stop()
        self._broker.restart()

    def _delete_offsets(self) -> None:
        self._stop_all()
        self._operator.delete_offsets()

    def _reset_offsets(self) -> None:
        self._stop_all()
        self._operator.reset_offsets()

    def _make_signals_again(self) -> None:
        """Some schedulers run, and some stand still."""
        self._any()[1].kill()
        self._operator.delete_topic(self._installation.topics.signals)
        self._installation.make_topics()

    def _stop_all(self) -> None:
        """Some cleanly, some not; the group is empty when the sessions of these are over."""
        for node in self._nodes.values():
            node.kill() if self._random.random() < 0.5 else node.terminate()
        for node in self._nodes.values():
            node.exit_code()
        until(self._operator.group_is_empty, "the group is empty")


def _twin(name: str) -> str:
    """The home of a process that was started with the node id of another."""
    return f"{name}-twin"


def _freeze(service: Service, duration_s: float) -> None:
    service.freeze()
    sleep(duration_s)
    service.wake()
