"""How large the records are that disks are sized by (docs/performance.md)."""

from msgspec.structs import replace

from tests.bench.jobs import PAYLOAD, a_job, a_run, a_success
from tocsin.model.jobs import Handler
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import JOB, OUTCOME, RUN

HTTP = Handler(
    type="http",
    config=b'{"method": "POST", "url": "https://billing.example/report/4711",'
    b' "headers": {"X-Kind": "daily"}}',
)
NOW = 1_780_000_000_000
NAME = "customer-4711-report"


def test_a_job_a_run_and_its_outcome_take_so_many_bytes() -> None:
    assert len(PAYLOAD) == 200
    job = a_job(NAME, ScheduleFields(cron="0 7 * * *"), handler=HTTP)
    assert 400 < len(JOB.encode(job)) <= 450
    assert 400 < len(RUN.encode(replace(a_run(NAME, NOW), handler=HTTP))) <= 460
    assert 90 < len(OUTCOME.encode(a_success(NAME, NOW))) <= 120
