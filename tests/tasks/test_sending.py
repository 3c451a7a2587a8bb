"""Jobs for tasks, through the gateway."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.harness import Harness, PumpingTransport
from tests.tasks import sample
from tocsin import Client, clock
from tocsin.client import Invalid
from tocsin.tasks import Task, sending, task


@task(
    name="shop/report",
    retry=3,
    timeout="10m",
    priority="high",
    tags={"team": "shop"},
)
def report(day: str, parts: tuple[str, ...] = ()) -> None: ...


@task(retry={"max_attempts": 7, "initial": "1s"})
def numbers(*values: int) -> None: ...


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with (
        Harness(tmp_path) as harness,
        Client("http://localhost:8080", transport=PumpingTransport(harness)) as made,
    ):
        yield made


def test_a_schedule_is_a_job_of_the_tasks_name(client: Client) -> None:
    job = sample.add.schedule(
        cron="0 7 * * *", timezone="Europe/Berlin", kwargs={"a": 1}, client=client
    )
    assert job.job_id == "tests.tasks.sample.add"
    assert job.handler == {"type": "task", "name": "tests.tasks.sample.add"}
    assert job.payload == {"a": 1}
    assert job.info.next[0] == datetime(2026, 1, 1, 6, tzinfo=UTC)


def test_scheduling_again_replaces_the_job(client: Client) -> None:
    numbers.schedule("n", every="1h", args=[1, 2], client=client)
    job = numbers.schedule("n", every="2h", args=[3], client=client)
    assert (job.schedule["every"], job.payload) == ("PT2H", [3])
    assert [one.job_id for one in client.list()] == ["n"]


def test_a_tasks_own_settings_are_those_of_its_jobs_unless_one_says_otherwise(
    client: Client,
) -> None:
    fields = {"tags": {"team": "other"}, "overlap": "buffer_one"}
    job = report.schedule("r", every="1h", args=["today"], fields=fields, client=client)
    assert (job.retry.max_attempts, job.timeout, job.priority) == (3, "PT10M", "high")
    assert (job.tags, job.overlap) == ({"team": "other"}, "buffer_one")
    assert job.payload == {"day": "today"}
    assert numbers.schedule("n", every="1h", client=client).retry.initial == "PT1S"


@pytest.mark.parametrize("delay", ["5m", 300, timedelta(minutes=5)])
def test_enqueued_it_runs_once_after_the_delay(
    client: Client, delay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(clock, "now_ms", lambda: int(now.timestamp() * 1000))
    sent = report.enqueue("2026-01-31", parts=("a", "b"), delay=delay, client=client)
    job = client.get(sent.job_id)
    assert job.schedule["at"] == "2026-01-01T00:05:00Z"
    assert job.payload == {"day": "2026-01-31", "parts": ["a", "b"]}
    assert sent.job_id.startswith("shop-report-")
    assert sent.run_id == f"default.{sent.job_id}.20260101T000500.000Z"


def test_enqueued_for_a_time(client: Client) -> None:
    at = datetime(2026, 6, 1, 12, tzinfo=UTC)
    sent = sample.add.enqueue(1, at=at, client=client)
    assert client.get(sent.job_id).schedule["at"] == "2026-06-01T12:00:00Z"


def test_arguments_that_do_not_fit_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        sample.add.enqueue()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        sample.add.schedule(every="1h", args=[1], kwargs={"z": 1})
    with pytest.raises(TypeError, match="give one of delay and at"):
        sample.add.enqueue(1, delay=1, at=datetime(2026, 6, 1, tzinfo=UTC))


def test_arguments_that_are_no_json_are_refused(client: Client) -> None:
    with pytest.raises(TypeError, match=r"payload\.a: object is not JSON"):
        sample.add.enqueue(object(), client=client)


def test_a_schedule_that_is_none_is_refused_by_the_gateway(client: Client) -> None:
    with pytest.raises(Invalid, match="schedule"):
        sample.add.schedule(args=[1], cronn="* * * * *", client=client)


def test_without_a_client_it_takes_one_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Recording:
        def put(self, job_id: str, job: object, **fields: object) -> None:
            asked.append((job_id, fields["schedule"]))

    monkeypatch.setattr(sending, "_client", Recording)
    made: Task[..., Any] = sample.add
    made.schedule("j", every="1h", args=[1])
    assert asked == [("j", {"every": "1h"})]
