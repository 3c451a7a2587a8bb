"""start_p50, start_p99: from an occurrence's due instant to the call of its handler."""

from collections.abc import Iterator

from tests.bench.installation import Installation
from tests.bench.jobs import one_offs_over_time, sleepers
from tests.bench.measurement import Measurement, by_window, median_of, percentile
from tests.bench.seeding import WARM_UP_S, Seeding
from tests.bench.stage import Stage
from tests.bench.waiting import sleep_until
from tocsin import clock
from tocsin.model.keys import parse_run_id

WINDOWS = 3


def start(stage: Stage) -> Iterator[Measurement]:
    """One scheduler, one worker, one gateway; three windows behind one another."""
    rate, window_s = stage.size.count(1_000), stage.size.seconds(30)
    seconds = WARM_UP_S + WINDOWS * window_s
    number, stored = rate * seconds, stage.size.count(100_000)
    with (
        stage.installation() as installation,
        installation.scheduler(),
        installation.worker(),
        installation.gateway() as gateway,
    ):
        seeding = Seeding(installation, gateway)
        fill = max(stored - number, stored // 20)
        seeding.put(sleepers("sleeper", clock.now_ms(), fill), fill)
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
    detail = {"due_per_s": rate, "window_s": window_s, "stored": number + fill}
    for percent in (50, 99):
        samples = [percentile(window, percent) for window in windows]
        yield median_of(f"start_p{percent}", "ms", samples, **detail)


def latenesses(installation: Installation) -> Iterator[tuple[int, float]]:
    """(due, lateness in ms) of each run that has succeeded."""
    for _, _, outcome in installation.outcomes():
        if outcome.kind == "succeeded":
            assert outcome.started_time is not None
            due = parse_run_id(outcome.run_id).scheduled_time
            yield due, outcome.started_time - due
