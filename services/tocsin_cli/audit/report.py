"""What an audit says."""

from collections.abc import Mapping
from typing import Literal

from tocsin.model.keys import JobKey
from tocsin.model.values import Value

Verdict = Literal["missed", "doubled", "unfounded"]


class Finding(Value, frozen=True, kw_only=True):
    """An occurrence that breaks the promise.

    missed: due, and neither run nor recorded. doubled: more than one run, or a run beside a
    record that it was missed. unfounded: a run at a time that no definition asked for.
    """

    partition: int
    key: JobKey
    scheduled_time: int
    verdict: Verdict
    detail: str


class Lateness(Value, frozen=True, kw_only=True):
    """From due to the run's append time, over the runs on schedule; milliseconds."""

    runs: int
    p50_ms: int
    p99_ms: int
    max_ms: int


class PartitionReport(Value, frozen=True, kw_only=True):
    """What was proven of one partition, for occurrences due in [complete_since, watermark).

    complete_since: None = the log is whole from its beginning. watermark: None = nobody has
    accounted anything yet, and nothing is claimed. Both epoch milliseconds.
    due = once + recorded + waiting + missed + doubled.
    """

    partition: int
    complete_since: int | None
    watermark: int | None
    jobs: int = 0
    due: int = 0
    once: int = 0
    recorded: int = 0
    waiting: int = 0
    missed: int = 0
    doubled: int = 0
    unfounded: int = 0

    @property
    def is_clean(self) -> bool:
        return not (self.missed or self.doubled or self.unfounded)


class Report(Value, frozen=True, kw_only=True):
    """The whole. undecodable: how many records could not be read, by topic; the log names them."""

    partitions: list[PartitionReport]
    undecodable: Mapping[str, int]
    lateness: Lateness | None

    @property
    def is_clean(self) -> bool:
        return all(partition.is_clean for partition in self.partitions)

    def total(self, name: str) -> int:
        """The sum of a count over the partitions."""
        return sum(int(getattr(partition, name)) for partition in self.partitions)
