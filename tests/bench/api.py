"""api_write_p99, api_read_p99: answers of the gateway, as its users wait for them."""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from random import Random

from tests.bench.http_load import Answered, Call, load
from tests.bench.jobs import PAYLOAD, intervals
from tests.bench.measurement import Measurement, by_window, median_of, percentile
from tests.bench.pages import a_page, filed_jobs
from tests.bench.projection import write_history
from tests.bench.seeding import WARM_UP_S
from tests.bench.services import RESTORE_S
from tests.bench.stage import Stage
from tocsin import clock

WINDOWS = 3


def api_write(stage: Stage) -> Iterator[Measurement]:
    """PUTs of new jobs while a scheduler fires and the gateway takes in its runs."""
    rate, runs, window_s = stage.size.count(300), stage.size.count(2_000), stage.size.seconds(30)
    with (
        stage.installation() as installation,
        installation.scheduler(),
        installation.gateway() as gateway,
    ):
        jobs = intervals("due", clock.now_ms(), runs, runs, overlap="allow_all")
        installation.put(jobs)
        installation.wait_until_applied()
        answers = load(gateway.url, _puts(), rate, WARM_UP_S + WINDOWS * window_s)
    samples = _p99s(answers, rate, window_s, expected=201)
    detail = {"puts_per_s": rate, "runs_per_s": runs, "window_s": window_s}
    yield median_of("api_write_p99", "ms", samples, **detail)


def api_read(stage: Stage) -> Iterator[Measurement]:
    """GETs of one job and of a page of 50 in turn, over many jobs and runs; of a page those that
    people ask for, see `bench.pages`."""
    rate, window_s = stage.size.count(100), stage.size.seconds(30)
    jobs = stage.size.count(100_000, 1_000_000)
    runs = stage.size.count(1_000_000, 10_000_000)
    with stage.installation() as installation:
        installation.put(filed_jobs(clock.now_ms(), jobs))
        due = write_history(installation, runs, jobs, outcomes=False)
        with installation.gateway(ready_s=RESTORE_S) as gateway:
            installation.wait_until_projected(gateway)
            stage.tell(f"  {jobs} jobs and {runs} runs are projected")
            answers = load(gateway.url, _gets(jobs, due), rate, WARM_UP_S + WINDOWS * window_s)
    samples = _p99s(answers, rate, window_s, expected=200)
    detail = {"gets_per_s": rate, "jobs": jobs, "runs": runs, "window_s": window_s}
    yield median_of("api_read_p99", "ms", samples, **detail)


def _puts() -> Iterator[Call]:
    body = {
        "schedule": {"cron": "0 0 1 1 *"},
        "handler": {"type": "noop"},
        "payload": PAYLOAD.decode().strip('"'),
    }
    return (Call("PUT", f"/v1/jobs/new-{n}", body) for n in count())


def _gets(jobs: int, due: range) -> Iterator[Call]:
    random = Random(7)
    while True:
        yield Call("GET", f"/v1/jobs/job-{random.randrange(jobs)}")
        yield Call("GET", a_page(random, jobs, due))


def _p99s(answers: list[Answered], rate: int, window_s: int, expected: int) -> list[float]:
    """Of each window. Raises RuntimeError where an answer is another than expected."""
    statuses = Counter(answer.status for answer in answers)
    if set(statuses) != {expected}:
        raise RuntimeError(f"answers by status: {dict(statuses)}; all should be {expected}")
    begin = answers[0].due + WARM_UP_S * 1000
    pairs = ((answer.due, answer.latency) for answer in answers)
    windows = by_window(pairs, begin, window_s * 1000, WINDOWS, rate * window_s)
    return [percentile(window, 99) for window in windows]
