"""saturated_worker_p99: one worker of three is full; how long its share of the runs waits."""

import json
import time
from collections.abc import Iterator

from tests.bench.installation import Installation
from tests.bench.jobs import one_off, one_offs_over_time
from tests.bench.measurement import Measurement, by_window, median_of, percentile
from tests.bench.processes import http_receiver
from tests.bench.seeding import WARM_UP_S, Seeding
from tests.bench.services import Service
from tests.bench.stage import Stage
from tests.bench.starting import latenesses
from tests.bench.waiting import sleep_until, until
from tocsin import clock
from tocsin.model.jobs import Handler

WINDOWS = 3
SLOTS = 8
_SETTLE_S = 10


def saturated(stage: Stage) -> Iterator[Measurement]:
    rate, window_s = stage.size.count(200), stage.size.seconds(60, 600) // WINDOWS
    seconds = WARM_UP_S + WINDOWS * window_s
    number = rate * seconds
    worker = {"SLOTS": str(SLOTS), "HTTP_ALLOW": "127.0.0.0/8", "GRACE": "0"}
    with (
        http_receiver() as url,
        stage.installation() as installation,
        installation.scheduler(),
        installation.worker(**worker) as full,
    ):
        _fill(installation, full, url)
        with installation.worker(**worker), installation.worker(**worker):
            seeding = Seeding(installation)
            seeding.put(one_offs_over_time("probe", clock.now_ms(), rate, 1), rate)
            time.sleep(_SETTLE_S)
            begin = seeding.done_by(number)
            stage.tell(f"  {number} one-offs, from {(begin - clock.now_ms()) / 1000:.0f} s on")
            seeding.put(one_offs_over_time("due", begin, rate, seconds), number, before=begin)
            sleep_until(begin + seconds * 1000)
            installation.wait_for_outcomes(number)
            windows = by_window(
                latenesses(installation),
                begin + WARM_UP_S * 1000,
                window_s * 1000,
                WINDOWS,
                rate * window_s,
            )
    samples = [percentile(window, 99) for window in windows]
    yield median_of("saturated_worker_p99", "ms", samples, due_per_s=rate, window_s=window_s)


def _fill(installation: Installation, worker: Service, url: str) -> None:
    """Runs that end only with the worker, one in each slot of the only worker there is."""
    handler = Handler(type="http", config=json.dumps({"url": f"{url}/held"}).encode())
    due = clock.now_ms()
    installation.put(
        one_off(f"held-{n}", due, handler=handler, timeout_ms=3_600_000) for n in range(SLOTS)
    )
    until(lambda: worker.metric("tocsin_runs_open") == SLOTS, "all slots are taken")
