"""What an audit claims, of logs written by hand: a job runs every 10 s unless something else
is said."""

import pytest

from tests.audit.logs import say
from tests.audit.writing import KEY, START, Log, every_ten_seconds, instant, run_at
from tests.scheduler.world import TOPICS
from tocsin import clock
from tocsin.broker.port import Isolation, TopicPartition
from tocsin.model.fold import Restates
from tocsin.model.runs import Outcome
from tocsin.model.state import Range
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import RUN
from tocsin.wire.headers import restates_header
from tocsin_cli.audit import audit
from tocsin_cli.audit.reading import RETENTION_MS
from tocsin_cli.audit.refusals import NAMED


def test_runs_and_records_that_fill_the_schedule_are_clean() -> None:
    log = Log()
    log.accept(0)
    log.run(10, 20, 40)
    log.record("skipped", 30)
    log.record("missed", 50, 70, count=3)
    log.watermark(75)
    report, named = log.audit()
    assert named == set()
    assert (report.total("due"), report.total("once"), report.total("recorded")) == (7, 3, 4)


def test_nothing_is_claimed_from_the_watermark_on() -> None:
    log = Log()
    log.accept(0)
    log.run(10)
    log.watermark(20)
    assert log.audit().named == set()
    log.watermark(20.001)
    assert log.audit().named == {(20, "missed")}


def test_without_a_watermark_nothing_is_claimed() -> None:
    log = Log()
    log.accept(0)
    report, named = log.audit()
    assert named == set()
    assert report.partitions[0].watermark is None
    assert report.total("due") == 0


def test_a_definition_that_the_watermark_does_not_include_owes_nothing() -> None:
    log = Log()
    log.accept(0)
    log.watermark(60, jobs=0)
    assert log.audit().named == set()


def test_the_later_watermark_of_state_and_committed_offset_holds() -> None:
    log = Log()
    log.accept(0)
    log.run(10)
    log.watermark(15)
    _commit_mark(log, at=35)
    assert log.audit().named == {(20, "missed"), (30, "missed")}


def test_jitter_moves_what_is_due_and_not_what_it_is_called() -> None:
    log = Log()
    log.accept(0, jitter_ms=9_000)
    log.watermark(10.5)
    assert log.audit().named == set(), "default/a has an offset of more than half a second"
    log.watermark(19.9)
    assert log.audit().named == {(10, "missed")}


def test_an_edit_ends_what_the_definition_before_owes() -> None:
    log = Log()
    log.accept(0)
    log.run(10, 20)
    log.accept(25, '{"every": 10, "start": "2026-09-21T14:13:26Z"}')
    log.run(26, 36)
    log.watermark(45)
    assert log.audit().named == set()


def test_a_paused_job_owes_nothing() -> None:
    log = Log()
    log.accept(0)
    log.run(10)
    log.accept(15, status="paused")
    log.accept(35)
    log.run(40)
    log.watermark(45)
    assert log.audit().named == set()


def test_a_run_after_the_edit_is_founded_until_the_scheduler_has_read_it() -> None:
    log = Log()
    log.accept(0)
    log.run(10, 20, 30)
    log.accept(15, None, applied=25)
    log.watermark(45)
    assert log.audit().named == {(30, "unfounded")}


def test_a_run_at_a_time_that_no_definition_has_is_unfounded() -> None:
    log = Log()
    log.accept(0)
    log.run(10, 11)
    log.watermark(15)
    assert log.audit().named == {(11, "unfounded")}


def test_triggers_backfills_retries_and_redrives_stand_for_no_occurrence() -> None:
    log = Log()
    log.accept(0)
    log.run(10, cause="manual", suffix="-m0192f0c1")
    log.run(10, cause="backfill", suffix="-b0192f0c1")
    log.run(10, cause="redrive", attempt=6)
    log.run(10, attempt=2)
    log.record("skipped", 10, cause="manual", suffix="-m0192f0c1")
    log.record("skipped", 10, 20, count=2, cause="backfill")
    log.watermark(25)
    assert log.audit().named == {(10, "missed"), (20, "missed")}


def test_a_retry_does_not_double_a_run() -> None:
    log = Log()
    log.accept(0)
    log.run(10)
    log.run(10, attempt=2)
    log.watermark(15)
    assert log.audit().named == set()


def test_a_run_that_was_handed_back_is_emitted_again() -> None:
    log = Log()
    log.accept(0)
    log.run(10, 10)
    log.watermark(15)
    assert log.audit().named == {(10, "doubled")}
    say(log.cluster, _declined(10))
    assert log.audit().named == set()
    log.run(10)
    assert log.audit().named == {(10, "doubled")}


def test_an_outcome_that_cannot_be_read_explains_nothing_and_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Log()
    log.accept(0)
    log.run(10, 10)
    log.watermark(15)
    log.cluster.producer().produce(TOPICS.outcomes, KEY.encode(), b"no Avro", 0)
    report, named = log.audit()
    assert named == {(10, "doubled")}
    assert report.undecodable == {TOPICS.outcomes: 1}
    assert f"{TOPICS.outcomes}[0]@0 is refused: " in caplog.text


def test_a_run_wins_over_skipped_and_contradicts_missed() -> None:
    log = Log()
    log.accept(0)
    log.run(10, 20)
    log.record("skipped", 10)
    log.record("missed", 20)
    log.watermark(25)
    assert log.audit().named == {(20, "doubled")}


def test_a_record_counts_only_the_occurrences_of_its_own_schedule() -> None:
    log = Log()
    log.accept(0)
    log.accept(5, '{"every": 5, "start": "2026-09-21T14:13:25Z"}', applied=35)
    log.record("missed", 10, 30, count=3)
    log.run(15, 25)
    log.watermark(34)
    assert log.audit().named == set()


def test_a_backlog_in_state_is_open_and_not_lost() -> None:
    log = Log()
    log.accept(0)
    log.open_range(
        Range(
            range_id="c1",
            cause="catch_up",
            schedule=ScheduleFields(every_ms=10_000, start=START),
            jitter_ms=0,
            policy="skip",
            first=instant(10),
            last=instant(40),
            next=instant(20),
        )
    )
    log.watermark(55)
    report, named = log.audit()
    assert named == {(10, "missed"), (50, "missed")}
    assert report.total("waiting") == 3


def test_an_occurrence_that_waits_is_open_until_its_state_is_gone() -> None:
    log = Log()
    log.accept(0)
    log.open_run(10)
    log.watermark(15)
    assert log.audit().named == set()
    log.state(f"{KEY}#{run_at(10).run_id}".encode(), None)
    assert log.audit().named == {(10, "missed")}


def test_max_runs_ends_what_is_owed_until_the_job_is_made_anew() -> None:
    log = Log()
    log.accept(0, max_runs=2)
    log.run(10, 20)
    log.accept(45, None)
    log.accept(55, max_runs=2)
    log.run(60)
    log.watermark(75)
    assert log.audit().named == {(70, "missed")}


def test_a_one_off_in_the_past_of_a_job_made_anew_gives_the_job_before_no_more_runs() -> None:
    log = Log()
    log.accept(0, max_runs=1)
    log.run(10)
    log.accept(55, None)
    log.accept(60, '{"at": "2026-09-21T14:13:44Z"}', max_runs=1)
    log.run(24)
    log.watermark(75)
    assert log.audit().named == set()


def test_a_run_of_a_definition_that_stood_for_no_time_counts_for_the_limit() -> None:
    log = Log()
    log.accept(5, max_runs=1)
    log.accept(5, '{"every": 10, "start": "2026-09-21T14:13:24Z"}', max_runs=1, applied=12)
    log.run(10)
    log.watermark(25)
    assert log.audit().named == set()


def test_a_one_off_in_the_past_is_owed_once() -> None:
    log = Log()
    log.accept(0, '{"at": "2026-09-21T14:13:10Z"}')
    log.watermark(5)
    assert log.audit().named == {(-10, "missed")}
    log.run(-10)
    assert log.audit().named == set()
    log.run(-10)
    assert log.audit().named == {(-10, "doubled")}


def test_a_one_off_that_was_moved_before_its_time_is_owed_where_it_went() -> None:
    log = Log()
    log.accept(0, '{"at": "2026-09-21T14:13:40Z"}')
    log.accept(5, '{"at": "2026-09-21T14:13:50Z"}')
    log.watermark(60)
    assert log.audit().named == {(30, "missed")}


def test_a_one_off_dropped_in_a_pause_has_to_be_recorded() -> None:
    log = Log()
    log.accept(0, '{"at": "2026-09-21T14:13:40Z"}', status="paused")
    log.watermark(30)
    assert log.audit().named == set(), "it is owed until the job is resumed"
    log.accept(35, None)
    log.watermark(40)
    assert log.audit().named == {(20, "missed")}
    log.record("skipped", 20)
    assert log.audit().named == set()


def test_runs_of_every_pool_count() -> None:
    log = Log()
    log.accept(0)
    log.run(10, pool="absent")
    log.watermark(15)
    assert log.audit().named == set()


def test_what_cannot_be_read_is_counted_and_named_and_harms_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Log()
    log.accept(0)
    log.run(10)
    log.watermark(15)
    producer = log.cluster.producer()
    for topic in (TOPICS.events, TOPICS.state, TOPICS.runs("high")):
        producer.produce(topic, b"default/a#x", b"no Avro", 0)
    report, named = log.audit()
    assert named == set()
    assert report.undecodable == {TOPICS.events: 1, TOPICS.state: 1, TOPICS.runs("high"): 1}
    assert f"{TOPICS.events}[0]@1 is refused: " in caplog.text
    assert f"{TOPICS.state}[0]@1 is refused: " in caplog.text
    assert f"{TOPICS.runs('high')}[0]@0 is refused: " in caplog.text


def test_of_a_topic_that_cannot_be_read_the_first_records_are_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Log()
    log.watermark(15)
    producer = log.cluster.producer()
    for _ in range(NAMED + 20):
        producer.produce(TOPICS.events, b"default/a", b"no Avro", 0)
    report, _ = log.audit()
    assert report.undecodable == {TOPICS.events: NAMED + 20}
    assert caplog.text.count("is refused: ") == NAMED
    assert caplog.text.count(f"further refused records of {TOPICS.events} are only counted") == 1


def test_a_job_whose_definition_cannot_be_read_is_counted_and_not_judged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Log()
    log.accept(0, '{"cron": "of another release"}')
    log.watermark(60)
    report, named = log.audit()
    assert named == set()
    assert report.undecodable == {TOPICS.events: 1}
    assert f"{TOPICS.events}[0]@0 is refused: " in caplog.text


def test_an_aborted_transaction_has_run_nothing() -> None:
    log = Log()
    log.accept(0)
    log.watermark(15)
    producer = log.cluster.transactional_producer("tocsin.scheduler.x.1")
    producer.init(1.0)
    producer.begin()
    run = run_at(10)
    producer.produce(TOPICS.runs("normal"), run.run_id.encode(), RUN.encode(run))
    producer.abort(1.0)
    assert log.audit().named == {(10, "missed")}


def test_where_retention_has_removed_runs_nothing_before_is_claimed() -> None:
    log = Log()
    log.accept(0)
    log.run(10, 20)
    for partition in range(3):
        end = TopicPartition(TOPICS.runs("normal"), partition)
        reader = log.cluster.log_reader(isolation=Isolation.UNCOMMITTED)
        log.cluster.truncate(*end, reader.end_offsets([end], 1.0)[end])
    log.cluster.clock.advance(25_000)
    log.run(*[30 + 10 * number for number in range(20)])
    log.watermark(235)
    report, named = log.audit()
    assert named == {(230, "missed")}
    assert report.partitions[0].complete_since == instant(25) + 1_000
    assert report.total("due") == 21


def test_a_quiet_topic_of_runs_is_whole_as_far_back_as_retention_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Log()
    monkeypatch.setattr(clock, "now_ms", log.cluster.clock.now_ms)
    high = TOPICS.runs("high")
    log.cluster.producer().produce(high, b"x", b"an old run", 0)
    log.cluster.truncate(high, 0, 1)
    usual, shorter = (
        audit(log.cluster, TOPICS, retention_ms=retention_ms).partitions[0].complete_since
        for retention_ms in (None, {high: 60_000})
    )
    assert usual == START - RETENTION_MS + 1_000
    assert shorter == START - 60_000 + 1_000


def test_a_definition_older_than_the_events_is_taken_from_the_jobs_topic() -> None:
    log = _log_without_its_first_events()
    log.stored(every_ten_seconds())
    log.run(30, 50)
    log.watermark(55, jobs=1)
    assert log.audit().named == {(40, "missed")}


def test_a_stored_command_that_cannot_be_read_is_counted_and_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = _log_without_its_first_events()
    log.stored(every_ten_seconds())
    producer = log.cluster.producer()
    producer.produce(TOPICS.jobs, b"default/b", b"no Avro", 0)
    producer.produce(TOPICS.jobs, b"no key", b"{}", 0)
    log.run(30, 50)
    log.watermark(55, jobs=3)
    report, named = log.audit()
    assert named == {(40, "missed")}
    assert report.undecodable == {TOPICS.jobs: 2}
    assert f"{TOPICS.jobs}[0]@1 is refused: " in caplog.text
    assert f"{TOPICS.jobs}[0]@2 is refused: " in caplog.text


def test_a_restatement_stands_for_what_it_restates() -> None:
    log = _log_without_its_first_events()
    restates = Restates(revision=0, timestamp=instant(0), through=7)
    log.stored(every_ten_seconds(), [restates_header(restates)])
    log.run(30, 50)
    log.watermark(55, jobs=1)
    assert log.audit().named == {(40, "missed")}


def test_a_command_that_the_scheduler_has_not_read_stands_for_nothing() -> None:
    log = _log_without_its_first_events()
    log.stored(every_ten_seconds())
    log.watermark(55, jobs=0)
    assert log.audit().report.total("due") == 0


def _log_without_its_first_events() -> Log:
    """The events from before 24 s have been removed."""
    log = Log()
    log.record("skipped", 0, key="default/other")
    log.cluster.truncate(TOPICS.events, 0, 1)
    log.cluster.clock.advance(24_000)
    log.record("skipped", 24, key="default/other")
    return log


def _declined(at: float) -> Outcome:
    run = run_at(at)
    return Outcome(
        run_id=run.run_id,
        tenant=run.tenant,
        job_id=run.job_id,
        attempt=1,
        kind="declined",
        worker="w",
        time=instant(at),
        run=run,
    )


def _commit_mark(log: Log, at: float) -> None:
    """A scheduler's transaction, with its watermark beside the offset."""
    cluster = log.cluster
    member = cluster.group_member(TOPICS.scheduler_group)
    member.join(TOPICS.jobs, _Nobody())
    member.poll(0)
    producer = cluster.transactional_producer("tocsin.scheduler.x.1")
    producer.init(1.0)
    producer.begin()
    metadata = f"v1 w={instant(at).to_bytes(8, 'big').hex()} o=tocsin.scheduler.x.1"
    offsets = {TopicPartition(TOPICS.jobs, 0): (1, metadata)}
    producer.send_offsets(offsets, member.group_metadata(), 1.0)
    producer.commit(1.0)
    member.close()


class _Nobody:
    """Hears of assignments and does nothing."""

    def on_assign(self, partitions: frozenset[TopicPartition]) -> None: ...
    def on_revoke(self, partitions: frozenset[TopicPartition]) -> None: ...
    def on_lost(self, partitions: frozenset[TopicPartition]) -> None: ...
