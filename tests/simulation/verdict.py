"""Whether a story ended well: by the audit, and by rules that know nothing of the scheduler."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tests.scheduler.nodes import TOPICS, Town
from tests.simulation.story import Story
from tests.simulation.users import overlap_of
from tocsin.model.runs import Run
from tocsin.wire.codec import EVENT, OUTCOME, RUN_STATE
from tocsin.wire.codec import JOB_STATE as JOB_STATE_CODEC
from tocsin.wire.headers import read_restates
from tocsin_cli.audit import Finding, audit
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.place import DUE, JOB_STATE, key_of
from tocsin_scheduler.core.place import RUN_STATE as RUN_STATE_AT
from tocsin_scheduler.core.restoration import Restoration
from tocsin_scheduler.core.store import Store
from tocsin_scheduler.shell.live import Live
from tocsin_scheduler.shell.metadata import WATERMARK_KEY
from tocsin_scheduler.store.memory import MemoryStore

EARLIEST_MS = 1_000
OVERDUE_MS = 100_000
"""More than a lease or a queue time-out, which is how long a lost run may be in the way."""

ONE_AT_A_TIME = frozenset({"skip", "buffer_one", "buffer_all", "cancel_other"})
FINAL_WORDS = frozenset({"succeeded", "cancelled", "expired"})
FINAL_EVENTS = frozenset({"dead", "cancelled", "expired"})


class Emitted(NamedTuple):
    run: Run
    append_ms: int


def verdict(story: Story) -> Iterator[str]:
    """What is wrong, a sentence each; the story must have been played. Ends it."""
    town = story.town
    yield from _overdue(town)
    yield from _forgetful(town)
    story.end()
    emitted = [Emitted(*each) for each in town.emitted()]
    yield from _audited(town)
    yield from _doubled(town, emitted)
    yield from _early(emitted)
    yield from _overlapping(town, emitted)
    yield from _unanswered(story, emitted)


def _audited(town: Town) -> Iterator[str]:
    found: list[Finding] = []
    report = audit(town.cluster, TOPICS, pools=("default",), on_finding=found.append)
    for each in found:
        yield f"audit: {each.verdict}: {each.key} at {each.scheduled_time}: {each.detail}"
    if not found and not report.is_clean:
        yield f"audit: {report}"


def _doubled(town: Town, emitted: list[Emitted]) -> Iterator[str]:
    """An attempt is emitted once, and once more each time that it is handed back."""
    declined = Counter(
        (outcome.run_id, outcome.attempt)
        for outcome in map(OUTCOME.decode, _values(town, TOPICS.outcomes))
        if outcome.kind == "declined"
    )
    for attempt, times in Counter((run.run_id, run.attempt) for run, _ in emitted).items():
        if times > 1 + declined[attempt]:
            yield f"doubled: {attempt} {times} times, declined {declined[attempt]} times"


def _early(emitted: list[Emitted]) -> Iterator[str]:
    for run, append_ms in emitted:
        if append_ms < run.due_time - EARLIEST_MS and run.cause != "backfill":
            yield f"early: {run.run_id} by {run.due_time - append_ms} ms"


def _overlapping(town: Town, emitted: list[Emitted]) -> Iterator[str]:
    """Between the emission of a run and its end no other of a job that does not want that."""
    ends = _ends(town)
    lives: dict[str, dict[str, int]] = defaultdict(dict)
    for run, append_ms in sorted(emitted, key=lambda each: each.append_ms):
        key = str(run.key)
        if overlap_of(key) not in ONE_AT_A_TIME:
            continue
        for other, since in lives[key].items():
            if other != run.run_id and since < append_ms < ends.get(other, append_ms):
                yield f"overlap: {run.run_id} at {append_ms}, while {other} is unfinished"
        lives[key].setdefault(run.run_id, append_ms)


def _ends(town: Town) -> dict[str, int]:
    """When each run was over, as the log has it: the earliest word for it."""
    found: dict[str, int] = {}
    for record in town.records(TOPICS.outcomes):
        outcome = OUTCOME.decode(record.value or b"")
        if outcome.kind in FINAL_WORDS:
            found[outcome.run_id] = min(record.timestamp, found.get(outcome.run_id, 1 << 62))
    for record in town.records(TOPICS.events):
        event = EVENT.decode(record.value or b"")
        if event.type in FINAL_EVENTS and event.run_id is not None:
            found[event.run_id] = min(record.timestamp, found.get(event.run_id, 1 << 62))
    return found


def _unanswered(story: Story, emitted: list[Emitted]) -> Iterator[str]:
    """Each trigger of a job that is there makes exactly one run."""
    made = Counter(run.run_id.rpartition("-m")[2] for run, _ in emitted if run.attempt == 1)
    for trigger in story.users.triggers:
        if not made[trigger[:8]]:
            yield f"lost: no run of the trigger {trigger}"


def _overdue(town: Town) -> Iterator[str]:
    """Nothing in `state` waits for an instant that passed long ago."""
    newest = {r.key: r.value for r in town.records(TOPICS.state) if r.key}
    for key, value in newest.items():
        if value is None or b"#" not in key:
            continue
        state = RUN_STATE.decode(value)
        if state.phase != "running" and state.deadline < town.clock.now_ms() - OVERDUE_MS:
            yield f"stuck: {key.decode()} is {state.phase} since {state.deadline}"


def _forgetful(town: Town) -> Iterator[str]:
    """What its schedulers know is what a new one learns from the log alone."""
    held = {number: live for node in town.nodes for number, live in node.loop.tenures.owned.items()}
    if len(held) != town.partitions:
        yield f"unowned: only {sorted(held)} are owned in the end"
    for number, live in held.items():
        before, after = _knowledge(live.store), _knowledge(_restored(town, live))
        for key in sorted(before.keys() | after.keys()):
            if before.get(key) != after.get(key):
                was, learned = before.get(key), after.get(key)
                yield f"forgotten in {number}: {key!r} is {was!r}, the log says {learned!r}"


def _restored(town: Town, live: Live) -> Store:
    """A store made from the log, up to what the partition's owner has committed."""
    store, number = MemoryStore(), live.number
    config = CoreConfig(topics=TOPICS, partition=number, partitions=town.partitions)
    restoration = Restoration(store, config, None)
    place, offsets = live.accounted
    for record in town.cluster.records(TOPICS.state, number):
        if record.key and not record.key.startswith(WATERMARK_KEY):
            restoration.load_state(record.key, record.value)
    restoration.begin_jobs(place, town.clock.now_ms())
    for record in town.cluster.records(TOPICS.jobs, number):
        restates = read_restates(record.headers)
        if record.offset < offsets.jobs or (restates and restates.through < offsets.jobs):
            restoration.load_job(record)
    for _ in restoration.finish():
        pass
    return store


def _knowledge(store: Store) -> dict[bytes, bytes]:
    """Due index and state: what is neither a cache nor a hint nor a matter of minutes."""
    found = {
        key: value
        for first in (DUE, JOB_STATE, RUN_STATE_AT)
        for key, value in store.scan(first, bytes([first[0] + 1]))
    }
    return {key: value for key, value in found.items() if not _is_spent(key, store)}


def _is_spent(entry: bytes, store: Store) -> bool:
    """Whether it is an entry of the due index whose job has used runs of a limited number: where
    they are used up, no run comes of it."""
    if not entry.startswith(DUE):
        return False
    state = store.get(JOB_STATE + key_of(entry[len(DUE) :]))
    return state is not None and JOB_STATE_CODEC.decode(state).used_runs > 0


def _values(town: Town, topic: str) -> Iterator[bytes]:
    for record in town.records(topic):
        if record.value:
            yield record.value
