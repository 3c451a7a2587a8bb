"""A lease is relied upon only as long as heartbeats are known to be in the log."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tests.worker.support import ManualTimers
from tocsin.model.runs import OutcomeKind
from tocsin_worker.leases import Lease, LeaseTerms

TERMS = LeaseTerms(lease_ms=60_000, claim_after_ms=1_000)


class Log:
    """Where a lease writes: reports are given by hand, or at once."""

    def __init__(self, *, hears: bool = True) -> None:
        self.hears = hears
        self.kinds: list[OutcomeKind] = []
        self.unheard: list[Callable[[], None]] = []
        self.events: list[str] = []

    def say(self, kind: OutcomeKind, heard: Callable[[], None]) -> None:
        self.kinds.append(kind)
        if self.hears:
            heard()
        else:
            self.unheard.append(heard)

    def lease(self, timers: ManualTimers) -> Lease:
        return Lease(
            TERMS,
            timers,
            self.say,
            lambda: self.events.append("held"),
            lambda: self.events.append("lost"),
        )


def test_a_claim_is_followed_by_heartbeats_every_third_of_the_lease() -> None:
    timers, log = ManualTimers(), Log()
    log.lease(timers).claim()
    timers.advance(61_000)
    assert log.kinds == ["started", "heartbeat", "heartbeat", "heartbeat"]
    assert log.events == ["held"]


def test_a_second_claim_says_nothing_new() -> None:
    timers, log = ManualTimers(), Log()
    lease = log.lease(timers)
    lease.claim()
    lease.claim()
    assert log.kinds == ["started"]


def test_a_claim_that_is_not_heard_is_no_lease_and_cannot_be_lost() -> None:
    timers, log = ManualTimers(), Log(hears=False)
    log.lease(timers).claim()
    timers.advance(300_000)
    assert log.kinds == ["started"]
    assert log.events == []


def test_without_a_heard_heartbeat_the_lease_is_lost_a_sixth_before_its_end() -> None:
    timers, log = ManualTimers(), Log()
    log.lease(timers).claim()
    log.hears = False
    timers.advance(49_999)
    assert log.events == ["held"]
    timers.advance(1)
    assert log.events == ["held", "lost"]
    timers.advance(100_000)
    assert log.events == ["held", "lost"]


def test_a_heartbeat_counts_from_when_it_was_written_not_from_when_it_was_heard() -> None:
    timers, log = ManualTimers(), Log()
    log.lease(timers).claim()
    log.hears = False
    timers.advance(45_000)
    log.unheard[0]()  # written at 20 s
    timers.advance(24_999)
    assert log.events == ["held"]
    timers.advance(1)
    assert log.events == ["held", "lost"]


def test_a_process_that_was_frozen_for_longer_than_its_lease_wakes_up_without_it() -> None:
    timers, log = ManualTimers(), Log()
    log.lease(timers).claim()
    timers.freeze(61_000)
    timers.advance(0)
    assert log.events == ["held", "lost"]
    assert log.kinds == ["started"], "no heartbeat may extend a lease that has ended"


def test_one_frozen_between_append_and_report_does_not_take_the_old_lease_for_a_fresh_one() -> None:
    timers, log = ManualTimers(), Log(hears=False)
    log.lease(timers).claim()
    timers.freeze(61_000)
    log.unheard[0]()
    timers.advance(0)
    assert log.events == ["held", "lost"]


def test_a_released_lease_is_silent() -> None:
    timers, log = ManualTimers(), Log()
    lease = log.lease(timers)
    lease.claim()
    lease.release()
    timers.advance(300_000)
    assert log.kinds == ["started"]
    assert log.events == ["held"]


def test_a_claim_heard_after_the_work_has_ended_is_held_but_not_kept() -> None:
    timers, log = ManualTimers(), Log(hears=False)
    lease = log.lease(timers)
    lease.claim()
    lease.release()
    log.unheard[0]()
    timers.advance(300_000)
    assert log.events == ["held"]
    assert log.kinds == ["started"]


@given(st.lists(st.tuples(st.integers(0, 30_000), st.booleans()), max_size=30))
def test_a_lease_is_never_relied_upon_past_its_end(steps: list[tuple[int, bool]]) -> None:
    """However late the reports: the scheduler's lease ends no sooner than a lease after the
    writing of the last record that is in the log."""
    timers, log = ManualTimers(), Log(hears=False)
    written: list[int] = []

    def say(kind: OutcomeKind, heard: Callable[[], None]) -> None:
        written.append(timers.monotonic_ms())
        log.say(kind, heard)

    lease = Lease(TERMS, timers, say, lambda: None, lambda: log.events.append("lost"))
    lease.claim()
    heard = 0
    for duration_ms, hear in steps:
        timers.advance(duration_ms)
        if hear and heard < len(written):
            log.unheard[heard]()
            heard += 1
        timers.advance(0)
        if heard and "lost" not in log.events:
            assert timers.monotonic_ms() < written[heard - 1] + TERMS.lease_ms
