"""What goes wrong: crashes in any call, lost sessions, freezes, failing brokers, wrong clocks."""

from collections.abc import Callable
from functools import partial

from tests.scheduler.nodes import PARTITIONS, TOPICS, Crash, Node, Town
from tests.simulation.agenda import Agenda
from tests.simulation.chance import Chance
from tocsin.broker.errors import (
    AbortTransaction,
    BrokerError,
    BrokerUnreachable,
    Fenced,
    OutcomeUnknown,
)
from tocsin.broker.port import TopicPartition
from tocsin.testing.faults import Call
from tocsin_scheduler.store.memory import MemoryStores

NAMES = ("a", "b", "c")
CALLS: tuple[Call, ...] = (
    "flush", "send_offsets", "commit", "commit", "abort", "init", "committed", "fence", "poll",
    "poll_batch", "end_offsets", "begin_offsets",
)  # fmt: skip
ERRORS: tuple[type[BrokerError], ...] = (
    AbortTransaction,
    BrokerUnreachable,
    Fenced,
    OutcomeUnknown,
)
OFF_MS = (0, 0, -900, 900, -20_000, 20_000, 3_600_000)
SUSPENDED_MS = (5_000, 40_000, 150_000, 300_000)
STALL_MS = (1_000, 4_000)


class Mischief:
    """Processes by the names `NAMES`, each with a disk of its own that may be lost."""

    def __init__(self, town: Town, agenda: Agenda, chance: Chance) -> None:
        self._town = town
        self._agenda = agenda
        self._chance = chance
        self._disks: dict[str, MemoryStores] = {}
        self._frozen: list[Node] = []
        self._stalled: list[Node] = []
        self._kinds: list[Callable[[], None]] = [
            self._start,
            self._start,
            self._start,
            self._crash,
            self._crash,
            self._kill,
            self._fail,
            self._fail,
            self._expel,
            self._freeze,
            self._stall,
            self._stop,
            self._set_clock,
            self._suspend,
            self._lose_offsets,
        ]

    def act(self) -> str:
        """Something happens; its name."""
        kind = self._chance.pick(self._kinds)
        kind()
        return kind.__name__.strip("_")

    def step(self, node: Node) -> None:
        """One round of a process, in which it may die."""
        try:
            node.step()
        except Crash:
            self._died(node)

    def calm(self) -> None:
        """Nothing goes wrong any more; whoever is frozen wakes, and one sound process starts."""
        self._town.cluster.faults.clear()
        self._town.cluster.expire_transactions()
        while self._frozen:
            self._town.wake(self._frozen.pop())
        for node in self._stalled:
            self._town.nodes.append(node)
        self._stalled.clear()
        for node in self._town.nodes:
            node.clock.off_ms = 0
        self._start_named("sound", off_ms=0)

    def _any(self) -> Node | None:
        return self._chance.pick(self._town.nodes) if self._town.nodes else None

    def _died(self, node: Node) -> None:
        self._disks[node.name] = self._town.kill(node)

    def _start(self) -> None:
        self._start_named(self._chance.pick(NAMES), self._chance.pick(OFF_MS))

    def _start_named(self, name: str, off_ms: int) -> None:
        there = {node.name for node in (*self._town.nodes, *self._frozen, *self._stalled)}
        if name in there:
            return
        disk = self._disks.pop(name, None)
        if disk is None or self._chance.one_in(3):
            disk = MemoryStores()
        self._town.node(name, disk, off_ms=off_ms)

    def _crash(self) -> None:
        self._town.crash_at(self._chance.pick(CALLS), applied=self._chance.one_in(2))

    def _fail(self) -> None:
        error = self._chance.pick(ERRORS)("it failed")
        call = self._chance.pick(CALLS[:5])
        self._town.cluster.faults.plan(call, error, applied=self._chance.one_in(2))

    def _kill(self) -> None:
        if node := self._any():
            self._died(node)

    def _expel(self) -> None:
        if node := self._any():
            self._town.expel(node)

    def _freeze(self) -> None:
        """For longer than its session; the last one to freeze may be the first to wake."""
        if self._frozen and self._chance.one_in(2):
            self._town.wake(self._frozen.pop())
        elif node := self._any():
            self._town.freeze(node)
            self._frozen.append(node)

    def _stall(self) -> None:
        """For a shorter time than its session."""
        if node := self._any():
            self._town.nodes.remove(node)
            self._stalled.append(node)
            until = self._town.clock.now_ms() + self._chance.pick(STALL_MS)
            self._agenda.at(until, partial(self._go_on, node))

    def _go_on(self, node: Node) -> None:
        if node in self._stalled:
            self._stalled.remove(node)
            self._town.nodes.append(node)

    def _stop(self) -> None:
        if node := self._any():
            try:
                self._disks[node.name] = self._town.stop(node)
            except Crash:
                self._disks[node.name] = node.stores.copy()
                self._town.expel(node)

    def _set_clock(self) -> None:
        if node := self._any():
            node.clock.off_ms = self._chance.pick(OFF_MS)

    def _suspend(self) -> None:
        """All machines, brokers and all: wall clocks jump when they wake, monotonic ones do not."""
        now = self._town.clock.now_ms()
        self._town.clock.set(now + self._chance.pick(SUSPENDED_MS))

    def _lose_offsets(self) -> None:
        """They expire, or an operator sets them: both need an empty group."""
        if self._town.nodes or self._frozen or self._stalled:
            return
        group = TOPICS.scheduler_group
        if self._chance.one_in(2):
            self._town.cluster.forget_offsets(group)
        else:
            topic = self._chance.pick([TOPICS.jobs, TOPICS.signals, TOPICS.outcomes])
            place = TopicPartition(topic, self._chance.pick(range(PARTITIONS)))
            self._town.cluster.reset_offset(group, place, 0)
