"""Whether every due occurrence was accounted once: by a naive count, by the oracle's rules, and by
the audit."""

from collections import Counter
from collections.abc import Collection, Iterator

from tests.faults.installation import Created, Installation
from tests.faults.ledger import Ledger
from tests.faults.waiting import WaitedInVain
from tests.oracle.rules import breaches
from tocsin.timetable.instants import parse_instant
from tocsin_cli.audit import Finding, audit

SHOWN = 10

Occurrence = tuple[str, int]
"""A job id and a scheduled time."""


def judge(installation: Installation, ledger: Ledger, through_ms: int) -> None:
    """Each occurrence scheduled up to then has exactly one first attempt or one `skipped` event;
    nothing is there that nobody asked for. Blocks until what was due by then is accounted.

    The audit goes by what the scheduler has accepted: where a jobs topic is gone with its jobs, it
    asks for these all the same.
    """
    owing = [one for name, one in installation.created.items() if name not in installation.gone]
    asked = {o for one in owing for o in _due(one, through_ms)}
    try:
        ledger.until(lambda: asked <= set(_accounted(ledger)), "all that was due is accounted")
    except WaitedInVain as error:
        raise AssertionError(f"missing: {_some(asked - set(_accounted(ledger)))}") from error
    ledger.read_to_end()
    _nothing_else(installation, ledger)
    created = installation.created
    wrong = list(breaches(ledger.history, lambda key: created[key.job_id].job.overlap))
    assert not wrong, f"{len(wrong)} breaches: {wrong[:SHOWN]}"
    if not installation.gone:
        _judge_by_audit(installation)


def _nothing_else(installation: Installation, ledger: Ledger) -> None:
    accounted = Counter(_accounted(ledger))
    last = max(time for _, time in accounted)
    due = {o for one in installation.created.values() for o in _due(one, last)}
    doubled = {occurrence for occurrence, times in accounted.items() if times > 1}
    assert not doubled, f"doubled: {_some(doubled)}; {_history(ledger, min(doubled))}"
    unfounded = accounted.keys() - due
    assert not unfounded, f"nobody asked for: {_some(unfounded)}"


def _some(occurrences: Collection[Occurrence]) -> str:
    """How many there are, and the first."""
    return f"{len(occurrences)}, among them {sorted(occurrences)[:SHOWN]}"


def _history(ledger: Ledger, occurrence: Occurrence) -> str:
    """What the log says of one occurrence, for a test that fails."""
    job_id, at = occurrence
    runs = [
        f"run {run.run_id} #{run.attempt}, emitted {run.emitted_time}, appended {append_ms}"
        for run, append_ms in ledger.emitted
        if (run.job_id, run.scheduled_time) == occurrence
    ]
    events = [
        f"{event.type} at {event.time}, {event.reason}"
        for event in ledger.events
        if event.job_id == job_id and event.scheduled_time in (None, at)
    ]
    return "; ".join([*runs, *events])


def _accounted(ledger: Ledger) -> Iterator[Occurrence]:
    """A run that was declined is emitted again as the same attempt, unless another worker had its
    lease: then it ends there, or the next attempt follows."""
    declined = Counter(o.run_id for o in ledger.outcomes if (o.kind, o.attempt) == ("declined", 1))
    occurrences = {run.run_id: (run.job_id, run.scheduled_time) for run, _ in ledger.emitted}
    succeeded = ledger.succeeded
    for run_id, attempts in ledger.attempts.items():
        at_least = 1 if len(attempts) > 1 or run_id in succeeded else 0
        times = max(attempts[1] - declined[run_id], at_least)
        yield from [occurrences[run_id]] * times
    for event in ledger.events:
        if event.type == "skipped":
            assert event.scheduled_time is not None
            yield event.job_id, event.scheduled_time


def _due(created: Created, through_ms: int) -> Iterator[Occurrence]:
    """What becomes due of a job: an interval after its record's log timestamp, a one-off always."""
    job, schedule = created.job, created.job.schedule
    if schedule.at is not None:
        yield job.job_id, parse_instant(schedule.at)
        return
    assert schedule.every_ms is not None
    assert schedule.start is not None
    for time in range(schedule.start, through_ms + 1, schedule.every_ms):
        if time > created.append_ms:
            yield job.job_id, time


def _judge_by_audit(installation: Installation) -> None:
    findings: list[Finding] = []
    report = audit(installation.cluster, installation.topics, on_finding=findings.append)
    assert findings == []
    assert report.is_clean
    assert report.total("due") > 0
