"""Random lives of one partition: every kind of schedule and policy, commands of all sorts, workers
that succeed, fail and hand back, time in small and large steps, crashes."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import msgspec
from hypothesis import strategies as st

from tests.scheduler.documents import any_document
from tests.scheduler.outcomes import outcome_of
from tests.scheduler.world import EPOCH, World
from tocsin.timetable.instants import format_instant
from tocsin.wire.headers import condition_header
from tocsin_scheduler.core.turn import Budget

T = TypeVar("T")

KEYS = ("default/a", "default/b", "acme/c")
HOUR_MS = 3_600_000


class Put(NamedTuple):
    """`behind_ms`: how far the broker's clock is behind the scheduler's."""

    key: str
    document: bytes | None
    condition: int | None
    behind_ms: int


class Ask(NamedTuple):
    """A signal; `run`: which of the runs so far it is about."""

    key: str
    signal: str
    run: int


class Work(NamedTuple):
    """Time goes by, then one transaction; `reads`: of how many records of each topic."""

    ms: int
    runs: int
    reads: int
    crash: str


class Say(NamedTuple):
    """What a worker says of the next run it has not spoken of."""

    kind: str


class LoseStore(NamedTuple):
    """The scheduler dies, and its disk with it."""


Step = Put | Ask | Work | Say | LoseStore


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    def pick(options: Sequence[T]) -> T:
        return draw(st.sampled_from(options))

    return msgspec.json.encode(any_document(pick, EPOCH))


puts = st.builds(
    Put,
    st.sampled_from(KEYS),
    documents() | documents() | documents() | st.none(),
    st.sampled_from([None, None, None, None, None, 0, 1]),
    st.sampled_from([0, 0, 0, 300, 900]),
)
first_puts = st.builds(Put, st.sampled_from(KEYS), documents(), st.none(), st.just(0))
asks = st.builds(
    Ask,
    st.sampled_from(KEYS),
    st.sampled_from(["trigger", "backfill", "cancel"]),
    st.integers(0, 50),
)
works = st.builds(
    Work,
    st.sampled_from(
        [500, 1_000, 2_500, 9_000, 20_000, 500, 1_000, 2_500, 9_000, 0, 1, 40, 70_000, HOUR_MS]
    ),
    st.sampled_from([5_000, 5_000, 5_000, 2, 1]),
    st.sampled_from([1_000, 1_000, 1_000, 1, 0]),
    st.sampled_from(["", "", "", "", "before_commit", "after_commit"]),
)
says = st.builds(
    Say, st.sampled_from(["succeeded", "succeeded", "failed", "declined", "started", "expired"])
)
spells = st.lists(works | says, min_size=1, max_size=12)
turns = st.lists(puts | asks | st.builds(LoseStore), min_size=0, max_size=3)


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Jobs are made, then spells of work and outcomes alternate with commands."""
    history: list[Step] = [*draw(st.lists(first_puts, min_size=1, max_size=3))]
    for _ in range(draw(st.integers(1, 6))):
        history += draw(spells)
        history += draw(turns)
    return history + draw(spells)


busy_documents = st.builds(
    lambda every, jitter, policy: msgspec.json.encode(
        {
            "schedule": {"every": every},
            "handler": {"type": "noop"},
            "overlap": "allow_all",
            "jitter": jitter,
            "catch_up": {"policy": policy, "after": 5},
        }
    ),
    st.integers(1, 4),
    st.sampled_from([0, 2, 90]),
    st.sampled_from(["latest", "all", "skip"]),
)
busy_works = st.builds(
    Work, st.sampled_from([700, 2_500, 9_000]), st.just(5_000), st.just(1_000), st.just("")
)


@st.composite
def busy_histories(draw: st.DrawFn) -> list[Step]:
    """Jobs that run often, a few edits, and runs of every outcome: much to lose and to double."""
    put = st.builds(Put, st.sampled_from(KEYS), busy_documents, st.none(), st.just(0))
    history: list[Step] = [draw(put)]
    for _ in range(draw(st.integers(1, 3))):
        history += draw(st.lists(busy_works | says, min_size=2, max_size=6))
        history += draw(st.lists(put | puts, max_size=1))
    return [*history, Work(60_000, 5_000, 1_000, "")]


class Player:
    """Lives a history in a world of its own."""

    def __init__(self) -> None:
        self.world = World()
        self._spoken_of = 0

    def play(self, history: list[Step]) -> World:
        for step in history:
            self._take(step)
        self._take(Work(0, 5_000, 1_000, ""))
        return self.world

    def _take(self, step: Step) -> None:
        world = self.world
        if isinstance(step, Put):
            headers = [] if step.condition is None else [condition_header(step.condition)]
            world.put(step.key, step.document, headers, skew_ms=step.behind_ms)
        elif isinstance(step, Work):
            world.now += step.ms
            budget = Budget(runs=step.runs, catch_up=step.runs)
            world.turn(budget, outcomes_read=world.now - 700, crash=step.crash, most=step.reads)
        elif isinstance(step, Say):
            self._say(step.kind)
        elif isinstance(step, Ask):
            self._ask(step)
        else:
            world.lose_store()

    def _say(self, kind: str) -> None:
        runs = self.world.log.runs
        if self._spoken_of < len(runs):
            self.world.say(outcome_of(runs[self._spoken_of], kind, self.world.now))
            self._spoken_of += 1

    def _ask(self, step: Ask) -> None:
        now = self.world.now
        signal: dict[str, object] = {
            "signal": step.signal,
            "signal_id": f"0192f0c1-7d7e-7000-8000-{step.run:012x}",
        }
        if step.signal == "backfill":
            signal |= {"from": format_instant(now - 60_000), "to": format_instant(now + 30_000)}
        if step.signal == "cancel":
            runs = self.world.log.runs
            if not runs:
                return
            signal["run_id"] = runs[step.run % len(runs)].run_id
        self.world.signal(step.key, msgspec.json.encode(signal))
