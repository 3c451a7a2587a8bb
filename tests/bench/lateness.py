"""lateness_p50, lateness_p99, lateness_stored_ratio: from due to readable, at a steady rate."""

from collections.abc import Iterator
from statistics import median

from tests.bench.jobs import one_offs_over_time, sleepers
from tests.bench.measurement import Measurement, by_window, median_of, percentile
from tests.bench.run_log import RunLog
from tests.bench.seeding import WARM_UP_S, Seeding, put_as_released
from tests.bench.services import RESTORE_S
from tests.bench.stage import Stage
from tests.bench.waiting import until
from tocsin import clock
from tocsin.model.keys import parse_run_id

WINDOWS = 3
_AFTERWARDS_S = 120.0


def lateness(stage: Stage) -> Iterator[Measurement]:
    """First with few stored; that goes on with many only if the ratio is asked for."""
    few, many = stage.size.count(100_000), stage.size.count(3_000_000)
    detail = {"due_per_s": _rate(stage), "window_s": stage.size.seconds(30)}
    low = _latenesses(stage, few)
    for percent in (50, 99):
        samples = [percentile(window, percent) for window in low]
        yield median_of(f"lateness_p{percent}", "ms", samples, stored=few, **detail)
    low_p99 = median(percentile(window, 99) for window in low)
    ratios = [percentile(window, 99) / low_p99 for window in _latenesses(stage, many)]
    yield median_of("lateness_stored_ratio", "ratio", ratios, stored=[few, many], **detail)


def _rate(stage: Stage) -> int:
    return stage.size.count(2_000)


def _latenesses(stage: Stage, stored: int) -> list[list[float]]:
    """Milliseconds, in three windows behind one another. No worker; the reader takes its share of
    the machine."""
    rate, window_s = _rate(stage), stage.size.seconds(30)
    seconds = WARM_UP_S + WINDOWS * window_s
    number = rate * seconds
    with stage.installation() as installation, installation.run_log() as log:
        probe = number // 20
        fill = max(probe, stored - number - probe)
        put_as_released(installation, sleepers("sleeper", clock.now_ms(), fill))
        with installation.scheduler(ready_s=RESTORE_S):
            seeding = Seeding(installation)
            seeding.put(sleepers("probe", clock.now_ms(), probe), probe)
            begin = seeding.done_by(number)
            stage.tell(f"  {number} one-offs, from {(begin - clock.now_ms()) / 1000:.0f} s on")
            seeding.put(one_offs_over_time("due", begin, rate, seconds), number, before=begin)
            pairs = _follow(log, number, begin + (seconds + _AFTERWARDS_S) * 1000)
        measured_from = begin + WARM_UP_S * 1000
        return by_window(pairs, measured_from, window_s * 1000, WINDOWS, rate * window_s)


def _follow(log: RunLog, number: int, deadline: float) -> list[tuple[int, float]]:
    """(due, lateness) of the next `number` runs as they become readable."""
    pairs: list[tuple[int, float]] = []

    def read() -> bool:
        for run in log.read(0.1):
            due = parse_run_id(run.run_id).scheduled_time
            pairs.append((due, run.readable - due))
        return len(pairs) >= number

    patience_s = (deadline - clock.now_ms()) / 1000
    until(read, f"{number} runs are readable", patience_s=patience_s, every_s=0)
    return pairs
