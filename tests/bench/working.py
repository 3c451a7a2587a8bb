"""worker_noop, worker_http: runs a second through the whole cycle, with one worker process."""

import json
from collections.abc import Iterator, Mapping

from tests.bench.installation import Installation
from tests.bench.jobs import NOOP, one_offs_at_once, one_offs_over_time, sleepers
from tests.bench.measurement import Measurement, median_of
from tests.bench.processes import http_receiver
from tests.bench.seeding import WARM_UP_S, Seeding
from tests.bench.services import Service
from tests.bench.stage import Stage
from tests.bench.waiting import sleep_until, until
from tocsin import clock
from tocsin.broker.port import TopicPartition
from tocsin.model.jobs import Handler

REPEATS = 3
WARM_UP_RATE = 1_000
_LOOK_S = 0.05
_STILL_MS = 2_000


def worker_noop(stage: Stage) -> Iterator[Measurement]:
    yield _cycle(stage, "worker_noop", stage.size.count(100_000), NOOP)


def worker_http(stage: Stage) -> Iterator[Measurement]:
    with http_receiver() as url:
        config = json.dumps({"url": url}).encode()
        number = stage.size.count(50_000)
        yield _cycle(stage, "worker_http", number, Handler(type="http", config=config))


def _cycle(stage: Stage, bench: str, number: int, handler: Handler) -> Measurement:
    """One-offs due at once, three times; a steady load comes before, so that each partition of
    runs is past its first records, which a worker takes one by one."""
    rates, costs = [], []
    warm_rate = stage.size.count(WARM_UP_RATE)
    with (
        stage.installation() as installation,
        installation.scheduler() as scheduler,
        installation.worker(HTTP_ALLOW="127.0.0.0/8") as worker,
    ):
        seeding = Seeding(installation)
        seeding.put(sleepers("sleeper", clock.now_ms(), number // 20), number // 20)
        begin = seeding.done_by(warm_rate * WARM_UP_S)
        warm_up = one_offs_over_time("warm", begin, warm_rate, WARM_UP_S, handler=handler)
        seeding.put(warm_up, warm_rate * WARM_UP_S, before=begin)
        sleep_until(begin + WARM_UP_S * 1000)
        installation.wait_for_outcomes(warm_rate * WARM_UP_S)
        for repeat in range(REPEATS):
            due = seeding.done_by(number)
            stage.tell(f"  {number} runs, due in {(due - clock.now_ms()) / 1000:.0f} s")
            jobs = one_offs_at_once(f"due-{repeat}", due, number, handler=handler)
            seeding.put(jobs, number, before=due)
            sleep_until(due)
            before = _cpu_s(scheduler, worker)
            ended = _ended_at(installation, number)
            rates.append(number * 1000 / (ended - due))
            used = zip(before, _cpu_s(scheduler, worker), strict=True)
            costs.append([round((end - begin) * 1e6 / number) for begin, end in used])
    detail = {"runs": number, "cpu_us_per_run": {"scheduler, worker": costs}}
    return median_of(bench, "runs/s", rates, **detail)


def _cpu_s(*services: Service) -> list[float]:
    return [service.cpu_s() for service in services]


def _ended_at(installation: Installation, number: int) -> int:
    """The instant at which the scheduler had applied the last outcome of the next `number` runs.

    While they go on nothing is read but offsets: the machine is theirs.
    """
    watch = _AppliedWatch(installation)
    watch.follow(number)
    last: dict[TopicPartition, int] = {}
    ended = set()
    for place, offset, outcome in installation.outcomes(watch.start):
        if outcome.kind == "succeeded":
            ended.add(outcome.run_id)
            last[place] = offset
    if len(ended) != number:
        raise RuntimeError(f"{number} runs should have succeeded, {len(ended)} have")
    return watch.when(last)


class _AppliedWatch:
    """How far the scheduler had applied the outcomes, and when. `start`: their ends before."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._topic = installation.topics.outcomes
        self.start = installation.ends(self._topic)
        self._seen = [(clock.now_ms(), self.start)]

    def follow(self, number: int) -> None:
        """Until at least so many more are applied, and no more come."""
        until(
            lambda: self._look() >= number and self._is_still(),
            f"{number} outcomes are applied",
            every_s=_LOOK_S,
        )

    def when(self, offsets: Mapping[TopicPartition, int]) -> int:
        """The first instant at which all of these offsets were seen to be applied."""
        return next(
            instant
            for instant, applied in self._seen
            if all(applied[place] > offset for place, offset in offsets.items())
        )

    def _look(self) -> int:
        applied = self._installation.applied(self.start.keys())
        if applied != self._seen[-1][1]:
            self._seen.append((clock.now_ms(), applied))
        return sum(applied.values()) - sum(self.start.values())

    def _is_still(self) -> bool:
        since, applied = self._seen[-1]
        return (
            clock.now_ms() - since > _STILL_MS and self._installation.ends(self._topic) == applied
        )
