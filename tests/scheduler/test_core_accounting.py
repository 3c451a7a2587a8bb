"""Every due occurrence is accounted exactly once, whatever happens: the core against a naive model.

The model knows only the log: for each accepted definition, from its log timestamp to the next
one's, each scheduled time has exactly one run or one recorded reason, and no run stands for
anything else.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scheduler.outcomes import outcome_of
from tests.scheduler.world import EPOCH, World
from tocsin.model.events import Event
from tocsin.timetable import parse_schedule
from tocsin.timetable.instants import format_instant
from tocsin.wire.headers import condition_header
from tocsin_scheduler.core.book import Book, Tally
from tocsin_scheduler.core.overlay import Overlay
from tocsin_scheduler.core.place import DEFINITION, instant_of
from tocsin_scheduler.core.turn import Budget

KEYS = ("default/a", "acme/b")
AFTER_MS = 5_000
EXAMPLES = int(os.environ.get("TOCSIN_TEST_EXAMPLES", "400"))


class Put(NamedTuple):
    key: str
    document: bytes | None
    condition: int | None
    skew_ms: int


class Pass(NamedTuple):
    """Time goes by, then the owner works; `hold`: without a transaction (it was down)."""

    ms: int
    runs: int
    crash: str
    hold: bool


class Finish(NamedTuple):
    """Workers report on what they have: success or failure of the oldest unreported runs."""

    succeeds: bool
    runs: int


class Lose(NamedTuple):
    """The store is gone."""


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    kind = draw(st.sampled_from(["every", "every_anchored", "cron", "at"]))
    at = EPOCH + draw(st.integers(-20, 90)) * 1_000 + draw(st.sampled_from([0, 250]))
    schedule: dict[str, object]
    if kind == "cron":
        schedule = {"cron": draw(st.sampled_from(["* * * * *", "*/2 * * * *", "14-20 * * * *"]))}
    elif kind == "at":
        schedule = {"at": format_instant(at)}
    else:
        schedule = {"every": draw(st.integers(1, 30))}
        if kind == "every_anchored":
            schedule["start"] = format_instant(at)
    if kind != "at" and draw(st.integers(0, 5)) == 0:
        schedule["end"] = format_instant(EPOCH + draw(st.integers(100, 200)) * 1_000)
    document = {
        "schedule": schedule,
        "handler": {"type": "noop"},
        "overlap": draw(st.sampled_from(["skip", "allow_all", "allow_all", "buffer_one"])),
        "jitter": draw(st.sampled_from([0, 0, 3, 20])),
        "catch_up": {
            "policy": draw(st.sampled_from(["latest", "all", "skip"])),
            "after": AFTER_MS // 1_000,
            "window": draw(st.sampled_from([None, None, 30])),
        },
        "retry": {"max_attempts": 2, "initial": 1, "max": 5},
    }
    status = draw(st.sampled_from([None, "active", "paused", "active"]))
    if status is not None:
        document["status"] = status
    return msgspec.json.encode(document)


puts = st.builds(
    Put,
    st.sampled_from(KEYS),
    st.one_of(documents(), documents(), st.none()),
    st.sampled_from([None, None, None, 0, 1, 2]),
    st.sampled_from([0, 0, 300, 900]),
)
passes = st.builds(
    Pass,
    st.sampled_from([0, 1, 40, 500, 1_000, 2_500, 9_000, 30_000, 70_000]),
    st.sampled_from([1, 2, 5_000, 5_000]),
    st.sampled_from(["", "", "", "before_commit", "after_commit"]),
    st.booleans(),
)
finishes = st.builds(Finish, st.booleans(), st.integers(1, 4))
histories = st.lists(
    st.one_of(puts, passes, passes, finishes, st.builds(Lose)), min_size=3, max_size=40
)


class Workers:
    """Report on runs in the order of their emission."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._reported = 0

    def finish(self, succeeds: bool, runs: int) -> None:
        for run in self._world.log.runs[self._reported : self._reported + runs]:
            self._world.say(outcome_of(run, "succeeded" if succeeds else "failed", self._world.now))
            self._reported += 1

    def finish_all(self) -> None:
        self.finish(True, len(self._world.log.runs))


@settings(max_examples=EXAMPLES)
@given(histories)
def test_each_due_occurrence_has_one_run_or_one_reason(history: list[object]) -> None:
    world = play(history)
    verdicts = list(judge_world(world))
    assert not verdicts, "\n".join(verdicts)
    assert world.partition.tally == counted(world)


def counted(world: World) -> Tally:
    """The tally by counting what is stored."""
    book = Book(Overlay(world.store), world.config)
    stored = book.overlay.scan(DEFINITION, DEFINITION + b"\xff")
    held = [book.held(name[len(DEFINITION) :]) for name, _ in stored]
    runs = [state for key in KEYS for _, state in book.run_states(key.encode())]
    return Tally(
        jobs=sum(entry is not None and entry.exists for entry in held),
        open_runs=sum(state.phase not in ("waiting", "dead") for state in runs),
    )


def play(history: list[object]) -> World:
    world = World()
    workers = Workers(world)
    for action in history:
        if isinstance(action, Put):
            headers = [] if action.condition is None else [condition_header(action.condition)]
            world.put(action.key, action.document, headers, skew_ms=action.skew_ms)
        elif isinstance(action, Pass):
            world.now += action.ms
            if not action.hold:
                budget = Budget(runs=action.runs, catch_up=action.runs)
                world.turn(budget, outcomes_read=world.now - 700, crash=action.crash)
        elif isinstance(action, Finish):
            workers.finish(action.succeeds, action.runs)
        else:
            world.lose_store()
    for _ in range(400):
        world.now += 1_000
        more = world.turn()
        workers.finish_all()
        if not more and world.now > EPOCH + 300_000:
            break
    for _ in range(50):
        world.turn()
        workers.finish_all()
        world.now += 100
    return world


def judge_world(world: World) -> Iterator[str]:
    """What is lost or doubled, one sentence each."""
    end = instant_of(world.log.place)
    runs = Counter(run.run_id for run in world.log.runs if run.attempt == 1)
    for run_id, count in runs.items():
        if count > 1:
            yield f"{run_id} was emitted {count} times"
    reasons = defaultdict(list)
    accepted = defaultdict(list)
    for event in world.log.events:
        if event.type in ("skipped", "missed"):
            reasons[str(event.key)].append(event)
        elif event.type == "accepted":
            accepted[str(event.key)].append(event)
    scheduled = {(str(run.key), run.scheduled_time) for run in world.log.runs}
    for key, definitions in accepted.items():
        for event, following in zip(definitions, [*definitions[1:], None], strict=True):
            if event.status != "active" or event.schedule is None:
                continue
            for nominal in due_of(event, following, end):
                accounted = (key, nominal) in scheduled or _recorded(reasons[key], nominal)
                if not accounted and not _kept(world, key, nominal):
                    yield f"{key} at {nominal - EPOCH} of revision {event.revision} is lost"
    yield from _uncalled(world, accepted)


def due_of(event: Event, following: Event | None, end: int) -> Iterator[int]:
    """The occurrences that this definition has to account for."""
    fields = msgspec.json.decode(event.schedule or "{}")
    schedule = parse_schedule(fields)
    start = event.anchor or 0
    until = end - 40_000 if following is None else (following.anchor or 0)
    if schedule.at_ms is not None:
        if schedule.at_ms <= until:
            yield schedule.at_ms
        return
    nominal = schedule.next_ms(start)
    while nominal is not None and nominal <= until:
        yield nominal
        nominal = schedule.next_ms(nominal)


def _kept(world: World, key: str, nominal: int) -> bool:
    """Whether it stands in the backlog of a paused job, which goes on at the resume."""
    book = Book(Overlay(world.store), world.config)
    held = book.held(key.encode())
    paused = held is not None and held.job is not None and held.job.status == "paused"
    ranges = book.job_state(key.encode()).ranges
    return paused and any(left.next <= nominal <= left.last for left in ranges)


def _recorded(events: list[Event], nominal: int) -> bool:
    return any((e.first or 0) <= nominal <= (e.last or 0) for e in events)


def _uncalled(world: World, accepted: dict[str, list[Event]]) -> Iterator[str]:
    """Runs that no definition ever asked for."""
    for run in world.log.runs:
        schedules = [
            parse_schedule(msgspec.json.decode(event.schedule))
            for event in accepted[str(run.key)]
            if event.schedule and event.status == "active"
        ]
        if not any(s.next_ms(run.scheduled_time - 1) == run.scheduled_time for s in schedules):
            yield f"{run.run_id} is no occurrence of any definition"
        if run.emitted_time < run.due_time:
            yield f"{run.run_id} was emitted before it was due"
