"""Every reader of the jobs topic comes to hold the same, whatever compaction has dropped.

The history: writers append commands, plain and conditional, valid and not; a judge (the
scheduler) follows at its own pace and restates, committing the offset it has judged with each
restatement. The topic is compacted now and then. Readers begin anywhere, cold.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.model.fold import Held, JobRecord, Restates, judge, restatement
from tocsin.model.jobs import Handler, Job
from tocsin.timetable import ScheduleFields

LAG_MS = 1_000


class Entry(NamedTuple):
    key: str
    record: JobRecord


class Topic:
    """The log of the topic, its judge, and what the judge holds."""

    def __init__(self) -> None:
        self.log: dict[int, Entry] = {}
        self.end = 0
        self.now = 10_000
        self.judged = 0
        self.held: dict[str, Held | None] = {}

    def append(self, key: str, record: JobRecord) -> None:
        placed = msgspec.structs.replace(record, offset=self.end, timestamp=self.now)
        self.log[self.end] = Entry(key, placed)
        self.end += 1

    def judge(self, records: int) -> None:
        """The scheduler's transactions: each judges one record, restates, commits the offset."""
        for _ in range(min(records, self.end - self.judged)):
            entry = self.log.get(self.judged)
            self.judged += 1
            if entry is None:
                continue
            judgement = judge(self.held.get(entry.key), entry.record, compaction_lag_ms=LAG_MS)
            self.held[entry.key] = judgement.held
            if judgement.restate:
                self._restate(entry, judgement.held)

    def _restate(self, entry: Entry, held: Held | None) -> None:
        job = None if held is None else held.job
        restates = restatement(held, entry.record)
        self.append(entry.key, JobRecord(offset=0, timestamp=0, job=job, restates=restates))

    def compact(self, keep: set[int]) -> None:
        """Drop every record that is judged, not the last of its key, and not to be kept."""
        last = {entry.key: offset for offset, entry in self.log.items()}
        for offset in list(self.log):
            newest = last[self.log[offset].key] == offset
            if offset < self.judged and not newest and offset not in keep:
                del self.log[offset]

    def cold_reader(self) -> dict[str, Held | None]:
        """What a reader holds at the end, having begun with nothing: see the module's docstring."""
        held: dict[str, Held | None] = {}
        cut = self.judged
        for offset in sorted(self.log):
            entry = self.log[offset]
            restates = entry.record.restates
            if offset < cut or (restates is not None and restates.through < cut):
                self._read(held, entry, trusting=True)
        for offset in sorted(self.log):
            if offset >= cut:
                self._read(held, self.log[offset], trusting=False)
        return held

    @staticmethod
    def _read(held: dict[str, Held | None], entry: Entry, *, trusting: bool) -> None:
        judgement = judge(
            held.get(entry.key), entry.record, compaction_lag_ms=LAG_MS, trusting=trusting
        )
        held[entry.key] = judgement.held


def job(every_s: int, status: str | None, *, anchored: bool = True) -> Job:
    start = 5_000 if anchored else None
    return Job(
        schedule=ScheduleFields(every_ms=every_s * 1_000, start=start),
        status=status,  # type: ignore[arg-type]
        tenant="default",
        job_id="a",
        handler=Handler(type="noop"),
    )


jobs = st.builds(
    job,
    st.integers(1, 3),
    st.sampled_from([None, "active", "paused"]),
    anchored=st.booleans(),
)
conditions = st.one_of(st.none(), st.none(), st.just("none"), st.integers(0, 4))
commands = st.builds(
    JobRecord,
    offset=st.just(0),
    timestamp=st.just(0),
    job=st.one_of(jobs, jobs, jobs, st.none()),
    condition=conditions,
    problem=st.sampled_from([None] * 9 + ["not JSON"]),
)


class Append(NamedTuple):
    key: str
    command: JobRecord


class Judge(NamedTuple):
    records: int


class Wait(NamedTuple):
    ms: int


class Compact(NamedTuple):
    keep: frozenset[int]


steps = st.one_of(
    st.builds(Append, st.sampled_from("aaab"), commands),
    st.builds(Append, st.sampled_from("aaab"), commands),
    st.builds(Judge, st.integers(1, 3)),
    st.builds(Wait, st.sampled_from([1, 400, 1_200])),
    st.builds(Compact, st.frozensets(st.integers(0, 40))),
)


def play(history: list[object]) -> Iterator[Topic]:
    topic = Topic()
    for step in history:
        if isinstance(step, Append):
            topic.append(step.key, step.command)
        elif isinstance(step, Judge):
            topic.judge(step.records)
        elif isinstance(step, Wait):
            topic.now += step.ms
        elif isinstance(step, Compact):
            topic.compact(set(step.keep))
        yield topic


def definitions(held: dict[str, Held | None]) -> dict[str, tuple[int, int, Job]]:
    """What counts: revision, log timestamp and definition of the jobs that exist."""
    return {
        key: (entry.revision, entry.timestamp, entry.job)
        for key, entry in held.items()
        if entry is not None and entry.job is not None
    }


@settings(max_examples=600)
@given(st.lists(steps, max_size=30))
def test_a_cold_reader_ends_up_with_what_the_judge_will_hold(history: list[object]) -> None:
    for topic in play(history):
        reader = topic.cold_reader()
        while topic.judged < topic.end:
            before = topic.end
            topic.judge(1)
            for offset in range(before, topic.end):
                topic._read(reader, topic.log[offset], trusting=False)
        assert definitions(reader) == definitions(topic.held)


@settings(max_examples=300)
@given(st.lists(steps, max_size=30))
def test_the_judge_comes_to_rest(history: list[object]) -> None:
    *_, topic = play([*history, Judge(0)])
    for _ in range(4 * (topic.end - topic.judged)):
        topic.judge(1)
    assert topic.judged == topic.end


@given(jobs, st.integers(0, 9), st.integers(0, 9))
def test_a_restatement_never_overtakes_a_later_command(
    definition: Job, through: int, later: int
) -> None:
    held = Held(revision=later, timestamp=1, job=definition, created_revision=later, created_time=1)
    restates = Restates(revision=max(0, later - 1), timestamp=0, through=through)
    record = JobRecord(offset=20, timestamp=5, job=definition, restates=restates)
    judgement = judge(held, record, compaction_lag_ms=LAG_MS)
    taken = judgement.verdict == "restated"
    assert taken == (later <= through or restates.revision == later)


def test_a_reader_looks_ahead_for_what_was_judged_below_its_cut() -> None:
    """A command between a void record and its restatement counts, whoever reads it."""
    topic = Topic()
    topic.append("a", JobRecord(offset=0, timestamp=0, job=job(1, "active")))
    topic.append("a", JobRecord(offset=0, timestamp=0, job=job(2, "active"), condition=9))
    topic.append("a", JobRecord(offset=0, timestamp=0, job=job(3, "active"), condition=0))
    topic.judge(2)
    reader = topic.cold_reader()
    held = reader["a"]
    assert held is not None
    assert held.revision == 2


def test_a_first_record_is_not_judged_by_its_condition() -> None:
    record = JobRecord(offset=3, timestamp=1, job=job(1, "active"), condition=7)
    judgement = judge(None, record, compaction_lag_ms=LAG_MS)
    assert judgement.verdict == "accepted"


def test_status_left_out_keeps_what_an_operator_set() -> None:
    paused = judge(
        None,
        JobRecord(offset=0, timestamp=1, job=job(1, "paused")),
        compaction_lag_ms=LAG_MS,
    ).held
    deployed = JobRecord(offset=1, timestamp=2, job=job(2, None))
    held = judge(paused, deployed, compaction_lag_ms=LAG_MS).held
    assert held is not None
    assert held.job is not None
    assert held.job.status == "paused"


def test_an_interval_left_without_start_keeps_its_anchor_when_it_is_written_again() -> None:
    first = JobRecord(offset=0, timestamp=1_000, job=job(3, None, anchored=False), canonical=False)
    held = judge(None, first, compaction_lag_ms=LAG_MS).held
    again = JobRecord(offset=1, timestamp=9_000, job=job(3, None, anchored=False), canonical=False)
    judgement = judge(held, again, compaction_lag_ms=LAG_MS)
    assert judgement.verdict == "unchanged"
    assert judgement.restate
