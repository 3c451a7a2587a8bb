"""What the scheduler's core writes passes the audit; what is taken from it or added is named.

The audit shares nothing with the core but the timetable, so each checks the other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.audit.histories import Player, Step, busy_histories, histories
from tests.audit.logs import POOLS, cluster_of, watermark_of
from tests.scheduler.world import TOPICS, World
from tocsin.model.events import Event
from tocsin.model.runs import Run
from tocsin.testing import MemoryCluster
from tocsin.wire.codec import JOB_STATE, OUTCOME, RUN_STATE
from tocsin_cli.audit import Finding, Report, audit
from tocsin_cli.audit.definitions import definition_of, obligations
from tocsin_cli.audit.intake import OWN
from tocsin_cli.marks import stored_mark

T = TypeVar("T")
Named = set[tuple[str, int, str]]

SIMULATED = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CORRUPTED = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def audited(cluster: MemoryCluster) -> tuple[Report, Named]:
    found: list[Finding] = []
    report = audit(cluster, TOPICS, pools=POOLS, on_finding=found.append)
    return report, {(str(each.key), each.scheduled_time, each.verdict) for each in found}


@SIMULATED
@given(histories())
def test_a_log_of_the_core_is_clean(history: list[Step]) -> None:
    report, found = audited(cluster_of(Player().play(history)))
    assert found == set()
    assert report.is_clean


@CORRUPTED
@given(busy_histories(), st.data())
def test_a_lost_run_is_named_and_nothing_else(history: list[Step], data: st.DataObject) -> None:
    world = Player().play(history)
    lost = data.draw(st.sampled_from(_or_skip(_only_accounts(world))))
    kept = [run for run in world.log.runs if run is not lost]
    _, found = audited(cluster_of(world, runs=kept))
    assert found == {(str(lost.key), lost.scheduled_time, "missed")}


@CORRUPTED
@given(busy_histories(), st.data())
def test_a_doubled_run_is_named_and_nothing_else(history: list[Step], data: st.DataObject) -> None:
    world = Player().play(history)
    twice = data.draw(st.sampled_from(_or_skip(_only_accounts(world))))
    _, found = audited(cluster_of(world, runs=[*world.log.runs, twice]))
    assert found == {(str(twice.key), twice.scheduled_time, "doubled")}


@CORRUPTED
@given(busy_histories(), st.data())
def test_where_a_record_is_lost_each_of_its_occurrences_is_named(
    history: list[Step], data: st.DataObject
) -> None:
    world = Player().play(history)
    lost = data.draw(st.sampled_from(_or_skip(_records(world))))
    kept = [event for event in world.log.events if event is not lost]
    report, found = audited(cluster_of(world, events=kept))
    expected = {
        (str(lost.key), nominal, "missed")
        for nominal in Seen(world).due(str(lost.key))
        if _first(lost) <= nominal <= _last(lost)
    }
    assert found == expected
    assert report.total("missed") == len(expected)


@CORRUPTED
@given(busy_histories(), st.data())
def test_a_record_that_counts_one_too_few_names_one(
    history: list[Step], data: st.DataObject
) -> None:
    world = Player().play(history)
    wrong = data.draw(st.sampled_from(_or_skip(_records(world))))
    fewer = msgspec.structs.replace(wrong, count=wrong.count - 1)
    events = [fewer if event is wrong else event for event in world.log.events]
    _, found = audited(cluster_of(world, events=events))
    assert len(found) == 1


def _or_skip(candidates: list[T]) -> list[T]:
    assume(candidates)
    return candidates


class Seen:
    """What was due in a world, and what stands for it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._due: dict[str, set[int]] = {}
        self.reasons: dict[str, list[Event]] = defaultdict(list)
        for event in world.log.events:
            if event.type in ("skipped", "missed", "cancelled"):
                self.reasons[str(event.key)].append(event)
        self.runs: dict[str, set[int]] = defaultdict(set)
        for run in world.log.runs:
            self.runs[str(run.key)].add(run.scheduled_time)
        self.open = {ref for ref, value in _final_state(world) if _keeps_something(ref, value)}

    def due(self, key: str) -> set[int]:
        """By the watermark; nothing of a job whose number of runs is limited."""
        if key not in self._due:
            self._due[key] = self._all_due(key)
        return self._due[key]

    def _all_due(self, key: str) -> set[int]:
        accepted = [each for each in self._world.log.events if each.type == "accepted"]
        mine = [definition_of(each) for each in accepted if str(each.key) == key]
        if any(definition.max_runs for definition in mine):
            return set()
        until = stored_mark(watermark_of(self._world)).instant
        return {obligation.nominal for obligation in obligations(mine, until)}

    def is_alone(self, event: Event) -> bool:
        """Whether nothing but the event stands for its occurrences."""
        key = str(event.key)
        others = [other for other in self.reasons[key] if other is not event]
        return not (
            any(ref.partition("#")[0] == key for ref in self.open)
            or any(
                _first(other) <= _last(event) and _last(other) >= _first(event) for other in others
            )
            or any(_covers(event, nominal) for nominal in self.runs[key])
        )


def _only_accounts(world: World) -> list[Run]:
    """Runs that alone account for an occurrence that was due."""
    seen = Seen(world)
    firsts = [run for run in world.log.runs if run.attempt == 1 and run.cause in OWN]
    emitted = Counter(run.run_id for run in firsts)
    declined = {run_id for run_id, kind in _spoken(world) if kind == "declined"}
    return [
        run
        for run in firsts
        if emitted[run.run_id] == 1
        and run.run_id not in declined
        and run.scheduled_time in seen.due(str(run.key))
        and not any(_covers(event, run.scheduled_time) for event in seen.reasons[str(run.key)])
    ]


def _records(world: World) -> list[Event]:
    """Events that alone account for their occurrences, each of which was due."""
    seen = Seen(world)
    return [
        event
        for event in world.log.events
        if event.type in ("skipped", "missed")
        and seen.is_alone(event)
        and event.count == sum(_covers(event, nominal) for nominal in seen.due(str(event.key)))
    ]


def _final_state(world: World) -> Iterator[tuple[str, bytes]]:
    """(state key, value) of what the state topic holds in the end."""
    for ref, value in dict(world.log.state).items():
        if value is not None:
            yield ref.decode(), value


def _keeps_something(ref: str, value: bytes) -> bool:
    """Whether an occurrence is kept there that is yet to run."""
    if "#" in ref:
        return RUN_STATE.decode(value).phase == "waiting"
    return bool(JOB_STATE.decode(value).ranges)


def _spoken(world: World) -> Iterator[tuple[str, str]]:
    for record in world.log.outcomes:
        outcome = OUTCOME.decode(record.value or b"")
        yield outcome.run_id, outcome.kind


def _covers(event: Event, nominal: int) -> bool:
    return _first(event) <= nominal <= _last(event)


def _overlap(one: Event, other: Event) -> bool:
    return _first(other) <= _last(one) and _last(other) >= _first(one)


def _first(event: Event) -> int:
    return event.first if event.first is not None else event.scheduled_time or 0


def _last(event: Event) -> int:
    return event.last if event.last is not None else event.scheduled_time or 0
