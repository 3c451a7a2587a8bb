"""Any history of crashes, freezes, restarts and failures: nothing lost, nothing doubled.

Jobs run every second or two and may overlap, so what must have run is plain arithmetic: each
multiple of the interval between the job's acceptance and its end, once.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scheduler.nodes import PARTITIONS, TOPICS, Crash, Node, Town
from tocsin.broker.errors import (
    AbortTransaction,
    BrokerError,
    BrokerUnreachable,
    Fenced,
    OutcomeUnknown,
)
from tocsin.broker.port import TopicPartition
from tocsin.model.jobs import CatchUp
from tocsin.testing.faults import Call
from tocsin_scheduler.store.memory import MemoryStores

JOBS = 4
NAMES = ("a", "b", "c")
TRANSACTION_LASTS_S = 10
NEVER_LATE = CatchUp(after_ms=86_400_000)

Kind = Literal[
    "crash", "expel", "freeze", "stop", "start", "fail", "put", "delete", "wait", "reset"
]


@dataclass(frozen=True)
class Event:
    """One thing that happens; `pick` chooses whom it happens to."""

    kind: Kind
    pick: int
    step: Call
    applied: bool
    keeps_disk: bool
    error: type[BrokerError]


STEPS: list[Call] = ["flush", "send_offsets", "commit", "abort", "init", "committed", "fence"]
ERRORS = [AbortTransaction, BrokerUnreachable, Fenced, OutcomeUnknown]

events = st.builds(
    Event,
    kind=st.sampled_from([*get_args(Kind), "start", "put"]),
    pick=st.integers(0, 7),
    step=st.sampled_from(STEPS),
    applied=st.booleans(),
    keeps_disk=st.booleans(),
    error=st.sampled_from(ERRORS),
)


class History:
    """Plays events on a town and keeps account of what must have run."""

    def __init__(self) -> None:
        self.town = Town()
        self.disks: dict[str, MemoryStores] = {}
        self.frozen: list[Node] = []
        self.due: set[tuple[str, int]] = set()
        self.lives: dict[str, tuple[int, int]] = {}
        self.second = 0

    def play(self, event: Event) -> None:
        getattr(self, f"_{event.kind}")(event)
        self._pass(1)

    def finish(self) -> None:
        """A sound process takes over whatever is left."""
        self.town.cluster.faults.clear()
        self.town.cluster.expire_transactions()
        for node in self.frozen:
            self.town.nodes.append(node)
        self._start(Event("start", 0, "flush", False, True, AbortTransaction))
        self._pass(3)

    def missing_and_doubled(self) -> tuple[set[tuple[str, int]], list[str]]:
        ran = {(f"job-{n}", t) for n in range(JOBS) for t in self.town.times(f"job-{n}")}
        return self.due ^ ran, self.town.doubled()

    def _pass(self, seconds: int) -> None:
        for _ in range(seconds):
            self.second += 1
            for name, (since, every) in self.lives.items():
                if (self.second - since) % every == 0:
                    self.due.add((name, self.second))
            self.town.clock.advance(1_000)
            if self.second % TRANSACTION_LASTS_S == 0:
                self.town.cluster.expire_transactions()
            self._run()

    def _run(self) -> None:
        for _ in range(8):
            for node in list(self.town.nodes):
                try:
                    node.loop.step()
                except Crash:
                    self.disks[node.name] = self.town.kill(node)

    def _node(self, event: Event) -> Node | None:
        nodes = self.town.nodes
        return nodes[event.pick % len(nodes)] if nodes else None

    def _crash(self, event: Event) -> None:
        self.town.crash_at(event.step, applied=event.applied)

    def _fail(self, event: Event) -> None:
        self.town.cluster.faults.plan(event.step, event.error("it failed"), applied=event.applied)

    def _expel(self, event: Event) -> None:
        if node := self._node(event):
            self.town.expel(node)

    def _freeze(self, event: Event) -> None:
        if node := self._node(event):
            self.town.freeze(node)
            self.frozen.append(node)
        elif self.frozen:
            self.town.nodes.append(self.frozen.pop())

    def _stop(self, event: Event) -> None:
        if node := self._node(event):
            try:
                self.disks[node.name] = self.town.stop(node)
            except Crash:
                self.disks[node.name] = node.stores.copy()
                self.town.expel(node)

    def _start(self, event: Event) -> None:
        name = NAMES[event.pick % len(NAMES)]
        running = {node.name for node in (*self.town.nodes, *self.frozen)}
        if name not in running:
            disk = self.disks.get(name) if event.keeps_disk else None
            self.town.node(name, disk or MemoryStores())

    def _put(self, event: Event) -> None:
        name, every = f"job-{event.pick % JOBS}", 1 + event.pick // JOBS
        if name not in self.lives:
            self.town.put(name, every_s=every, catch_up=NEVER_LATE)
            self.lives[name] = self.second, every

    def _delete(self, event: Event) -> None:
        name = f"job-{event.pick % JOBS}"
        if self.lives.pop(name, None):
            self.town.delete(name)

    def _reset(self, event: Event) -> None:
        """An operator sets the group's offsets, which needs an empty group; or they expire."""
        if self.town.nodes or self.frozen:
            return
        if event.applied:
            self.town.cluster.forget_offsets(TOPICS.scheduler_group)
        else:
            topic = (TOPICS.jobs, TOPICS.signals, TOPICS.outcomes)[event.pick % 3]
            place = TopicPartition(topic, event.pick % PARTITIONS)
            self.town.cluster.reset_offset(TOPICS.scheduler_group, place, 0)

    def _wait(self, event: Event) -> None:
        self._pass(event.pick)


@settings(max_examples=150, deadline=None)
@given(st.lists(events, min_size=1, max_size=14))
def test_nothing_is_lost_and_nothing_doubled(history: list[Event]) -> None:
    played = History()
    played.town.node("a")
    for event in history:
        played.play(event)
    played.finish()
    assert played.missing_and_doubled() == (set(), [])
