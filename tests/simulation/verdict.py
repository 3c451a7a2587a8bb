"""Whether a story ended well: by the audit, and by rules that know nothing of the scheduler."""

from collections import Counter
from collections.abc import Iterator

from tests.oracle.knowledge import PartitionLog, Standing, gaps
from tests.oracle.rules import Answered, Emitted, History, Told, breaches
from tests.scheduler.nodes import TOPICS, Town
from tests.simulation.story import Story
from tests.simulation.users import overlap_of
from tocsin.wire.codec import EVENT, OUTCOME, RUN_STATE
from tocsin_cli.audit import Finding, audit
from tocsin_scheduler.core.config import CoreConfig

OVERDUE_MS = 100_000
"""More than a lease or a queue time-out, which is how long a lost run may be in the way."""


def verdict(story: Story) -> Iterator[str]:
    """What is wrong, a sentence each; the story must have been played. Ends it."""
    town = story.town
    yield from _overdue(town)
    yield from _forgetful(town)
    story.end()
    history = _history(town)
    yield from _audited(town)
    yield from breaches(history, overlap_of)
    yield from _unanswered(story, history)


def _history(town: Town) -> History:
    outcomes, events = town.records(TOPICS.outcomes), town.records(TOPICS.events)
    return History(
        emitted=[Emitted(*each) for each in town.emitted()],
        outcomes=[Answered(OUTCOME.decode(r.value or b""), r.timestamp) for r in outcomes],
        events=[Told(EVENT.decode(r.value or b""), r.timestamp) for r in events],
    )


def _audited(town: Town) -> Iterator[str]:
    found: list[Finding] = []
    report = audit(town.cluster, TOPICS, pools=("default",), on_finding=found.append)
    for each in found:
        yield f"audit: {each.verdict}: {each.key} at {each.scheduled_time}: {each.detail}"
    if not found and not report.is_clean:
        yield f"audit: {report}"


def _unanswered(story: Story, history: History) -> Iterator[str]:
    """Each trigger of a job that is there makes exactly one run."""
    made = Counter(run.run_id.rpartition("-m")[2] for run, _ in history.emitted if run.attempt == 1)
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
    now = town.clock.now_ms()
    for number, live in held.items():
        place, offsets = live.accounted
        log = PartitionLog(*(town.cluster.records(t, number) for t in (TOPICS.state, TOPICS.jobs)))
        config = CoreConfig(topics=TOPICS, partition=number, partitions=town.partitions)
        yield from gaps(live.store, log, Standing(place, offsets.jobs), config, now)
