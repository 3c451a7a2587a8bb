"""Records of the jobs topic: judged, announced, and where they count, acted upon."""

from tocsin.model.events import Event
from tocsin.model.fold import Held, JobRecord, Judgement, judge, restatement
from tocsin.model.keys import JobKey
from tocsin.wire.codec import JOB
from tocsin.wire.headers import restates_header
from tocsin.wire.schedules import schedule_text
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.edits import Edits
from tocsin_scheduler.core.emission import Emission
from tocsin_scheduler.core.output import Outgoing
from tocsin_scheduler.core.turn import Turn


class Definitions:
    """The fold, and what an accepted record entails."""

    def __init__(self, book: Book, emission: Emission, edits: Edits, config: CoreConfig) -> None:
        self._book = book
        self._emission = emission
        self._edits = edits
        self._config = config

    def apply(self, turn: Turn, key: JobKey, record: JobRecord, value: bytes | None) -> None:
        """One record, at its place in the log; `value` is what it was read from."""
        name = str(key).encode()
        before = self._book.held(name)
        judgement = judge(before, record, compaction_lag_ms=self._config.compaction_lag_ms)
        if judgement.verdict == "accepted":
            whole = None if judgement.restate else value
            self._accepted(turn, key, before, judgement, whole)
        elif judgement.verdict == "restated":
            self._restated(turn, name, before, judgement.held)
        elif judgement.verdict in ("conflict", "invalid"):
            self._emission.about(turn, name, "rejected", judgement.reason, revision=record.offset)
        if judgement.restate:
            self._restate(turn, name, judgement.held, record)

    def _accepted(
        self,
        turn: Turn,
        key: JobKey,
        before: Held | None,
        judgement: Judgement,
        value: bytes | None,
    ) -> None:
        after = judgement.held
        assert after is not None
        name = str(key).encode()
        existed = before is not None and before.exists
        if after.job is None and not existed:
            self._book.put_held(name, after)
            return
        self._announce(turn, key, after)
        self._edits.change(turn, name, before if existed else None, after, value)

    def _announce(self, turn: Turn, key: JobKey, held: Held) -> None:
        job = held.job
        event = Event(
            tenant=key.tenant,
            job_id=key.job_id,
            type="accepted",
            time=turn.now,
            reason="deleted" if job is None else "",
            revision=held.revision,
            schedule=None if job is None else schedule_text(job.schedule),
            status="deleted" if job is None else job.status,
            jitter_ms=None if job is None else job.jitter_ms,
            anchor=held.timestamp,
            max_runs=None if job is None else job.max_runs,
        )
        self._emission.event(turn, event)

    def _restated(self, turn: Turn, key: bytes, before: Held | None, after: Held | None) -> None:
        """A restatement creates no occurrences; as a rule it says what is held already."""
        same = before is not None and after is not None and before.job == after.job
        if same and before is not None and after is not None:
            if before.revision != after.revision:
                self._edits.reindex(turn, key, after)
        elif before is not None or (after is not None and after.job is not None):
            self._edits.reindex(turn, key, after)
        else:
            self._book.put_held(key, after)

    def _restate(self, turn: Turn, key: bytes, held: Held | None, record: JobRecord) -> None:
        job = None if held is None else held.job
        turn.out.append(
            Outgoing(
                self._config.topics.jobs,
                key,
                None if job is None else JOB.encode(job),
                self._config.partition,
                [restates_header(restatement(held, record))],
            )
        )
