"""Gateways as real processes over a real Kafka."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.gateway.fake_scheduler import outcome_of, whole_run
from tests.integration.gateway_process import PATIENCE, GatewayProcess
from tocsin import clock
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.local import BrokerAddress, LocalBroker
from tocsin.client import Client, Conflict, Job, TocsinError, Unavailable
from tocsin.model.events import Event
from tocsin.model.jobs import Handler
from tocsin.model.jobs import Job as Definition
from tocsin.settings import Settings, load_settings
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import EVENT, OUTCOME, RUN
from tocsin.wire.topic_specs import Change, shipped_topics
from tocsin.wire.topics import Topics
from tocsin_gateway.service import rebuild_read_model

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

PARTITIONS = 2
NOOP = {"type": "noop"}
DRIFT = "cleanup.policy"
DAILY = {"cron": "0 7 * * *"}

Start = Callable[..., GatewayProcess]


def make_topics(bootstrap: str, prefix: str) -> Topics:
    topics = Topics(prefix)
    admin = TopicAdmin(bootstrap)
    admin.apply(admin.plan(shipped_topics().expand(topics, partitions=PARTITIONS, replication=1)))
    return topics


@pytest.fixture
def topics(broker: BrokerAddress, prefix: str) -> Topics:
    return make_topics(broker.bootstrap, prefix)


@pytest.fixture
def start(broker: BrokerAddress, prefix: str, tmp_path: Path) -> Iterator[Start]:
    """Starts a gateway; the same name has the same read model."""
    with ExitStack() as processes:

        def started(name: str = "one", **settings: str) -> GatewayProcess:
            folder = tmp_path / name
            folder.mkdir(exist_ok=True)
            every = {"BROKERS": broker.bootstrap, "PREFIX": prefix, **settings}
            return processes.enter_context(GatewayProcess(folder, every))

        yield started


def until(met: Callable[[], bool]) -> None:
    """Looks until something is the case."""
    end = clock.monotonic_ms() + PATIENCE * 1000
    while not met():
        assert clock.monotonic_ms() < end, "it never came to be"


def test_what_was_written_survives_a_kill_and_a_restart(start: Start, topics: Topics) -> None:
    first = start()
    with first.client() as client:
        put = client.put("a", schedule={"every": "1h"}, handler=NOOP, tags={"team": "x"})
        first.kill()
    with start().client() as client:
        read = client.get("a")

    assert read.revision == put.revision
    assert read.tags == {"team": "x"}


def test_of_two_gateways_with_concurrent_writers_exactly_one_wins(
    start: Start, topics: Topics
) -> None:
    with start("one").client() as one, start("two").client() as two:
        job = one.put("a", schedule=DAILY, handler=NOOP)
        for number in range(15):
            job = one_wins(one, two, job, number)


def one_wins(one: Client, two: Client, job: Job, number: int) -> Job:
    """Both replace the same revision; the one that won is what both then read."""

    def write(client: Client, name: str) -> Job | None:
        try:
            fields = {**job.definition(), "owner": f"{name} {number}"}
            return client.put(job.job_id, fields, if_revision=job.revision)
        except Conflict:
            return None

    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(write, one, "one"), pool.submit(write, two, "two")]
        won = [answer.result() for answer in answers if answer.result() is not None]
    assert len(won) == 1
    winner = won[0]
    assert winner is not None
    for client in (one, two):
        until(lambda client=client: client.get(job.job_id).revision == winner.revision)  # type: ignore[misc]
        assert client.get(job.job_id).owner == winner.owner
    return winner


def test_writers_without_conditions_all_get_through(start: Start, topics: Topics) -> None:
    with start("one").client() as one, start("two").client() as two:
        one.put("a", schedule=DAILY, handler=NOOP)
        until(lambda: [job.job_id for job in two.list()] == ["a"])

        def tag(number: int) -> Job:
            return (one, two)[number % 2].patch("a", tags={str(number): "x"})

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(tag, range(12)))
        last = max(answer.revision for answer in answers)
        until(lambda: one.get("a").revision >= last)

        assert set(one.get("a").tags) == {str(number) for number in range(12)}


def test_b140_many_jobs_of_ten_kilobytes_at_once_are_all_accepted(
    start: Start, topics: Topics
) -> None:
    """The broker's limit counts the batch: the producer's batches have to stay below it."""
    payload = "x" * 10_000
    with start().client() as client:

        def put(number: int) -> str:
            return client.put(f"j{number}", schedule=DAILY, handler=NOOP, payload=payload).job_id

        with ThreadPoolExecutor(32) as pool:
            written = set(pool.map(put, range(200)))

        assert {job.job_id for job in client.list()} == written
        assert len(written) == 200


def test_the_history_is_rebuilt_beside_a_gateway_that_goes_on(
    start: Start, topics: Topics, broker: BrokerAddress, prefix: str, tmp_path: Path
) -> None:
    write_history(broker.bootstrap, topics, 500)
    gateway = start()
    with gateway.client() as client:
        until(lambda: len(list(client.runs("a", status="succeeded"))) == 500)
        before = list(client.runs("a"))
        told: list[int] = []
        settings = settings_at(broker.bootstrap, prefix, tmp_path / "one")
        assert rebuild_read_model(settings, told.append) == 0
        until(lambda: "another read model" in gateway.log.read_text())
        until(lambda: list(client.runs("a")) == before)
    assert told[-1] == 0


def settings_at(bootstrap: str, prefix: str, folder: Path) -> Settings:
    """Of an installation whose read model is in `folder`."""
    return load_settings(
        {
            "TOCSIN_BROKERS": bootstrap,
            "TOCSIN_PREFIX": prefix,
            "TOCSIN_STATE_DIR": str(folder),
        }
    )


def meddle_with(bootstrap: str, topics: Topics) -> None:
    """Give the jobs topic a setting that loses jobs."""
    admin = TopicAdmin(bootstrap)
    (jobs,) = [spec for spec in shipped_topics().expand(topics) if spec.name == topics.jobs]
    admin.apply([Change(kind="alter", spec=jobs, config={"cleanup.policy": "delete"}, message="")])


def _nobody(_left: int) -> None:
    """Whom nobody tells how many records are left."""


def write_history(bootstrap: str, topics: Topics, count: int) -> None:
    """Runs of the job a that succeeded, as scheduler and worker write them."""
    job = Definition(
        tenant="default",
        job_id="a",
        schedule=ScheduleFields(cron="* * * * *"),
        handler=Handler(type="noop"),
    )
    producer = KafkaCluster(bootstrap).producer()
    now = clock.now_ms()
    for number in range(count):
        run = whole_run(job, 0, now - 1_000 * number)
        producer.produce(topics.runs("normal"), run.run_id.encode(), RUN.encode(run))
        done = OUTCOME.encode(outcome_of(run, "succeeded"))
        producer.produce(topics.outcomes, str(run.key).encode(), done)
    assert producer.flush(PATIENCE) == 0
    producer.close()


def test_b154_without_kafka_nothing_is_promised_and_nothing_acknowledged_is_lost(
    own_broker: LocalBroker, prefix: str, tmp_path: Path
) -> None:
    make_topics(own_broker.bootstrap, prefix)
    settings = {"BROKERS": own_broker.bootstrap, "PREFIX": prefix}
    with GatewayProcess(tmp_path, settings) as gateway, gateway.client() as client:
        client.put("before", schedule=DAILY, handler=NOOP)
        own_broker.kill()
        with Client(gateway.url(), retries=0) as hasty:
            with pytest.raises(Unavailable, match="not acknowledged"):
                hasty.put("during", schedule=DAILY, handler=NOOP)
            assert hasty.get("before").job_id == "before"
        own_broker.restart()
        until(lambda: written(client, "after"))

        assert {job.job_id for job in client.list()} >= {"before", "after"}
        assert gateway.stop() == 0


def written(client: Client, job_id: str) -> bool:
    try:
        client.put(job_id, schedule=DAILY, handler=NOOP)
    except TocsinError:
        return False
    return True


def test_a_stream_goes_on_behind_a_restart_and_does_not_hold_up_the_stop(
    start: Start, topics: Topics, broker: BrokerAddress
) -> None:
    first = start()
    with first.client() as client:
        assert list(client.list()) == []  # it is ready: before, a stream is refused
    with httpx.stream("GET", f"{first.url()}/v1/events", timeout=PATIENCE) as stream:
        place = next(line for line in stream.iter_lines() if line.startswith("id: "))
        began = clock.monotonic_ms()
        assert first.stop() == 0
        assert clock.monotonic_ms() - began < 8_000
    write_event(broker.bootstrap, topics, "while nobody listened")
    after = {"Last-Event-ID": place.removeprefix("id: ")}
    second = start()
    with second.client() as client:
        assert list(client.list()) == []
    with httpx.stream("GET", f"{second.url()}/v1/events", timeout=60, headers=after) as stream:
        data = next(line for line in stream.iter_lines() if line.startswith("data: "))

    assert "while nobody listened" in data


def write_event(bootstrap: str, topics: Topics, reason: str) -> None:
    """A decision, as the scheduler writes it."""
    event = Event(tenant="default", job_id="a", type="missed", time=clock.now_ms(), reason=reason)
    producer = KafkaCluster(bootstrap).producer()
    producer.produce(topics.events, b"default/a", EVENT.encode(event))
    assert producer.flush(PATIENCE) == 0
    producer.close()


class TestStart:
    def test_b156_it_ends_by_itself_when_asked(self, start: Start, topics: Topics) -> None:
        gateway = start()
        with gateway.client() as client:
            assert list(client.list()) == []

        assert gateway.stop() == 0

    def test_missing_topics_end_it_with_a_sentence(self, start: Start) -> None:
        gateway = start()

        assert gateway.process.wait(PATIENCE) == 1
        assert "tocsin topics apply" in gateway.log.read_text()

    def test_without_a_token_it_listens_on_loopback_only(self, start: Start) -> None:
        gateway = start(LISTEN="0.0.0.0:0")

        assert gateway.process.wait(PATIENCE) == 2
        assert "TOCSIN_API_TOKEN" in gateway.log.read_text()

    def test_a_database_that_cannot_be_is_told(self, start: Start) -> None:
        gateway = start(DATABASE_URL="sqlite:////proc/nowhere/gateway.sqlite")

        assert gateway.process.wait(PATIENCE) == 1
        assert "database of the read model" in gateway.log.read_text()

    def test_an_address_that_is_taken_is_told(self, start: Start, topics: Topics) -> None:
        taken = start("one").url().removeprefix("http://")
        gateway = start("two", LISTEN=taken)

        assert gateway.process.wait(PATIENCE) == 1
        assert "TOCSIN_LISTEN" in gateway.log.read_text()

    def test_a_topic_that_has_drifted_ends_it_with_a_sentence(
        self, start: Start, topics: Topics, broker: BrokerAddress
    ) -> None:
        meddle_with(broker.bootstrap, topics)
        gateway = start()

        assert gateway.process.wait(PATIENCE) == 1
        assert DRIFT in gateway.log.read_text()

    def test_a_topic_that_has_drifted_is_no_ground_to_rebuild_on(
        self,
        topics: Topics,
        broker: BrokerAddress,
        prefix: str,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        meddle_with(broker.bootstrap, topics)

        assert rebuild_read_model(settings_at(broker.bootstrap, prefix, tmp_path), _nobody) == 1
        assert DRIFT in caplog.text

    def test_a_rebuild_without_kafka_tells_that_it_is_unreachable(
        self, prefix: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert rebuild_read_model(settings_at("127.0.0.1:1", prefix, tmp_path), _nobody) == 3
        assert "not rebuilt: " in caplog.text

    def test_without_kafka_it_waits_also_to_learn_of_a_token(self, tmp_path: Path) -> None:
        settings = {"BROKERS": "127.0.0.1:1", "LISTEN": "0.0.0.0:0"}
        with GatewayProcess(tmp_path, settings) as gateway:
            until(lambda: "waiting for Kafka: " in gateway.log.read_text())
            assert gateway.process.poll() is None
            assert gateway.stop() == 0

    def test_without_kafka_it_waits_and_says_why(self, tmp_path: Path) -> None:
        with GatewayProcess(tmp_path, {"BROKERS": "127.0.0.1:1"}) as gateway:
            url = gateway.url()

            def reason() -> str:
                answer = httpx.get(f"{url}/healthz/ready")
                assert answer.status_code == 503
                return str(answer.json()["reason"])

            until(lambda: "brokers" in reason())
            assert httpx.get(f"{url}/healthz/live").status_code == 200
            assert gateway.stop() == 0


def test_a_gateway_with_a_token_answers_only_with_it(
    start: Start, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOCSIN_API_TOKEN", raising=False)
    url = start(API_TOKEN="s3cret", LISTEN="0.0.0.0:0").url().replace("0.0.0.0", "127.0.0.1")
    with Client(url, token="s3cret", retries=20) as client:
        assert client.put("a", schedule=DAILY, handler=NOOP).job_id == "a"
    assert httpx.get(f"{url}/v1/jobs").status_code == 401
    assert os.environ.get("TOCSIN_API_TOKEN") is None
