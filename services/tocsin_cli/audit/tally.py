"""Judgements of a partition's jobs, counted; what is wrong becomes a finding."""

from collections import Counter
from collections.abc import Callable, Iterable

from tocsin.model.keys import parse_job_key
from tocsin.wire.codec import EVENT
from tocsin_cli.audit.definitions import Definition, definition_of
from tocsin_cli.audit.judging import Claim, Judge, Result
from tocsin_cli.audit.report import Finding, PartitionReport
from tocsin_cli.audit.spool import JobFacts, Repeated, Stated


class UnreadableDefinition(ValueError):
    """A definition that says nothing to this release. is_standing: it is at `offset` of the jobs
    topic, else of the events."""

    def __init__(self, reason: object, offset: int, *, is_standing: bool) -> None:
        super().__init__(str(reason))
        self.offset = offset
        self.is_standing = is_standing


class PartitionTally:
    """`on_repeated` hears of occurrences whose first attempt was emitted more than once, and how
    often; they wait until it is known how many of them were handed back."""

    def __init__(
        self,
        partition: int,
        claim: Claim,
        on_finding: Callable[[Finding], None],
        on_repeated: Callable[[str, int, int], None],
    ) -> None:
        self._on_repeated = on_repeated
        self._partition = partition
        self._claim = claim
        self._on_finding = on_finding
        self._counts: Counter[Result] = Counter()
        self._jobs = 0

    def take(self, job: JobFacts) -> None:
        """Judge a job. Raises `UnreadableDefinition`, and nothing is claimed of the job."""
        definitions = _definitions(job)
        self._jobs += bool(definitions)
        for judgement in Judge(definitions, self._claim).judge(job.facts):
            if judgement.result == "repeated":
                self._on_repeated(job.key, judgement.scheduled_time, judgement.runs)
            else:
                self._count(job.key, judgement.scheduled_time, judgement.result, judgement.detail)

    def settle(self, repeated: Iterable[Repeated]) -> None:
        """A run that was handed back is emitted again as the same attempt."""
        for key, at, runs, returned in repeated:
            detail = f"emitted {runs} times as attempt 1, and handed back {returned} times"
            self._count(key, at, "doubled" if runs > returned + 1 else "once", detail)

    def report(self, since: int | None, watermark: int | None) -> PartitionReport:
        counts = self._counts
        return PartitionReport(
            partition=self._partition,
            complete_since=since,
            watermark=watermark,
            jobs=self._jobs,
            due=counts.total() - counts["unfounded"],
            once=counts["once"],
            recorded=counts["recorded"],
            waiting=counts["waiting"],
            missed=counts["missed"],
            doubled=counts["doubled"],
            unfounded=counts["unfounded"],
        )

    def _count(self, key: str, at: int, result: Result, detail: str) -> None:
        self._counts[result] += 1
        if result in ("missed", "doubled", "unfounded"):
            self._on_finding(
                Finding(
                    partition=self._partition,
                    key=parse_job_key(key),
                    scheduled_time=at,
                    verdict=result,
                    detail=detail,
                )
            )


def _definitions(job: JobFacts) -> list[Definition]:
    """From the events that are left, or if none is, the definition that stood before them.

    Raises `UnreadableDefinition`.
    """
    events = job.events or ([] if job.standing is None else [job.standing])
    return [_definition(each, is_standing=not job.events) for each in events]


def _definition(stated: Stated, *, is_standing: bool) -> Definition:
    try:
        return definition_of(EVENT.decode(stated.event))
    except ValueError as error:
        raise UnreadableDefinition(error, stated.offset, is_standing=is_standing) from error
