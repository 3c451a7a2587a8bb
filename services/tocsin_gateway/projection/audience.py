"""Who is told how far the read model has come: the requests of this process.

What the projector tells goes through a socket where it works in a process of its own; see
`projector_process`.
"""

from collections.abc import Mapping
from typing import Protocol

from tocsin.broker.port import TopicPartition
from tocsin.metrics import Metrics
from tocsin.model.values import Value
from tocsin_gateway.projection.outcome_tail import OutcomeTail, Said
from tocsin_gateway.projection.progress import Demand, Progress

DIED = "projector_died"
"""An alarm, and the action in the log: the projector's process has ended by itself."""


class Advance(Value, frozen=True):
    """How far the read model has come with a batch, and what it changed.

    reached: next offsets. runs: ids of rows. said: what workers said, with the partitions of the
    outcomes topic. records: how many were read. foreign: the topics of those left out. lag_ms:
    how old the newest is, 0 where nothing is left to read.
    """

    reached: dict[TopicPartition, int]
    runs: tuple[str, ...] = ()
    said: tuple[tuple[int, Said], ...] = ()
    records: int = 0
    foreign: tuple[str, ...] = ()
    lag_ms: int = 0
    jobs_complete: bool = False
    history_complete: bool = False


class Audience(Protocol):
    """What the projector tells, and what it asks. For its thread."""

    def begin_anew(self, generation: int) -> None:
        """The log is about to be read from other offsets, into the read model of this number."""

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        """The log is read from these offsets on."""

    def tell(self, advance: Advance) -> None: ...

    def alive(self) -> None:
        """That it goes on, where there is nothing to tell for seconds."""

    def trouble(self, reason: str | None) -> None:
        """Why the projector does not come on; None = it does again."""

    def await_demand(self, timeout: float) -> Demand:
        """Blocks until somebody waits for what is not in the read model yet, at most `timeout`
        seconds."""


class LocalAudience:
    """Progress, tail and metrics of this process."""

    def __init__(self, topic_of_outcomes: str, metrics: Metrics) -> None:
        self._metrics = metrics
        self._deaths = metrics.alarms.labels(DIED)
        self.progress = Progress()
        self.tail = OutcomeTail(topic_of_outcomes)

    def begin_anew(self, generation: int) -> None:
        self.progress.begin_anew()

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        self.tail.begin_anew(positions)

    def tell(self, advance: Advance) -> None:
        self.tail.note(advance.reached, advance.said)
        self.progress.jobs_complete = self.progress.jobs_complete or advance.jobs_complete
        self.progress.history_complete = self.progress.history_complete or advance.history_complete
        self.progress.publish(advance.reached, advance.runs)
        self._metrics.projection_records.inc(advance.records)
        self._metrics.projection_lag.set(advance.lag_ms / 1000)
        for topic in advance.foreign:
            self._metrics.records_refused.labels(topic).inc()

    def alive(self) -> None:
        return

    def died(self, reason: str) -> None:
        """The projector is not there, for this reason, until it starts anew."""
        self._deaths.inc()
        self.trouble(reason)

    def trouble(self, reason: str | None) -> None:
        self.progress.problem = reason

    def await_demand(self, timeout: float) -> Demand:
        """As it is now: who has the projector in the same process takes turns with it."""
        return self.progress.demand
