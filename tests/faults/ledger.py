"""What has been committed of runs, events and outcomes, read as it comes."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from tests.faults.installation import PARTITIONS, Installation
from tests.faults.waiting import until
from tests.oracle.rules import Answered, Emitted, History, Told
from tocsin.broker.errors import Retry
from tocsin.broker.port import Record, TopicPartition
from tocsin.model.events import Event
from tocsin.model.jobs import PRIORITIES
from tocsin.model.runs import Outcome, OutcomeKind
from tocsin.wire.codec import EVENT, OUTCOME, RUN

BATCH = 10_000
WAIT_S = 0.1


class Ledger:
    """Reads committed records only. `close` it at last."""

    def __init__(self, installation: Installation) -> None:
        self.history = History([], [], [])
        self._installation = installation
        topics = installation.topics
        self._take: dict[str, Callable[[Record], None]] = {
            topics.events: self._take_event,
            topics.outcomes: self._take_outcome,
            **{topics.runs(priority): self._take_run for priority in PRIORITIES},
        }
        self._places = [TopicPartition(t, p) for t in self._take for p in range(PARTITIONS)]
        self._reader = installation.cluster.log_reader()
        self._reader.assign(dict.fromkeys(self._places, 0))

    def close(self) -> None:
        self._reader.close()

    def read(self) -> None:
        """What has come since the last time; nothing while the broker is away."""
        with suppress(Retry):
            for record in self._reader.poll_batch(BATCH, WAIT_S):
                self._take[record.topic](record)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Read until the condition holds."""

        def holds() -> bool:
            self.read()
            return condition()

        until(holds, what)

    def read_to_end(self) -> None:
        """All that has been committed by now, and what is being committed."""
        self._read_up_to(self._installation.high_watermarks(self._places))

    def read_committed(self) -> None:
        """All that has been committed by now, before the first open transaction."""
        self._read_up_to(self._installation.stable_offsets(self._places))

    def _read_up_to(self, ends: dict[TopicPartition, int]) -> None:
        self.until(
            lambda: all(self._reader.position(place) >= end for place, end in ends.items()),
            "the log can be read to its end",
        )

    def until_fired(self, partitions: Collection[int], after_ms: int) -> int:
        """When the first run of these partitions was appended later than that; waits for it."""
        self.until(
            lambda: any(self._appended(partitions, after_ms)), f"one of {set(partitions)} fires"
        )
        return min(self._appended(partitions, after_ms))

    @property
    def emitted(self) -> list[Emitted]:
        return self.history.emitted

    @property
    def outcomes(self) -> Iterator[Outcome]:
        return (outcome for outcome, _ in self.history.outcomes)

    @property
    def events(self) -> Iterator[Event]:
        return (event for event, _ in self.history.events)

    @property
    def succeeded(self) -> set[str]:
        """Ids of the runs that have succeeded."""
        return {outcome.run_id for outcome in self.outcomes if outcome.kind == "succeeded"}

    @property
    def attempts(self) -> dict[str, Counter[int]]:
        """By run id: how often each attempt was emitted."""
        found: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for run, _ in self.emitted:
            found[run.run_id][run.attempt] += 1
        return found

    def claimed_by(self, node: str, attempt: int | None = None) -> set[str]:
        """Ids of the runs that a worker has claimed whose node id is this, in any attempt or in
        the one given. A record that is read again is claimed again: not each claim holds."""
        return {o.run_id for o in self._said("started", node) if attempt in (None, o.attempt)}

    def held_by(self, node: str) -> set[str]:
        """Ids of the runs whose lease a worker of this node id has extended. It has claimed them a
        while ago, so their offsets are committed, and nobody reads them again."""
        return {outcome.run_id for outcome in self._said("heartbeat", node)}

    def _said(self, kind: OutcomeKind, node: str) -> Iterator[Outcome]:
        said = (outcome for outcome in self.outcomes if outcome.kind == kind)
        return (outcome for outcome in said if outcome.worker.startswith(f"{node}-"))

    def _appended(self, partitions: Collection[int], after_ms: int) -> list[int]:
        created = self._installation.created
        late = (each for each in self.emitted if each.append_ms > after_ms)
        return [at for run, at in late if created[run.job_id].partition in partitions]

    def _take_run(self, record: Record) -> None:
        run = RUN.decode(record.value or b"")
        self.history.emitted.append(Emitted(run, record.timestamp))

    def _take_outcome(self, record: Record) -> None:
        outcome = OUTCOME.decode(record.value or b"")
        self.history.outcomes.append(Answered(outcome, record.timestamp))

    def _take_event(self, record: Record) -> None:
        event = EVENT.decode(record.value or b"")
        self.history.events.append(Told(event, record.timestamp))
