"""All benchmarks, in the order in which they run."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.bench import (
    api,
    burst,
    firing,
    lateness,
    memory,
    projection,
    restore,
    saturation,
    starting,
    takeover,
    timetable,
    working,
)
from tests.bench.measurement import Measurement
from tests.bench.stage import Stage


class Family(NamedTuple):
    """Benchmarks that are measured together; `run` tells them as they become known."""

    names: tuple[str, ...]
    run: Callable[[Stage], Iterator[Measurement]]


FAMILIES = (
    Family(("timetable_warm",), timetable.timetable_warm),
    Family(("timetable_cold",), timetable.timetable_cold),
    Family(("fire_allow_all",), firing.fire_allow_all),
    Family(("fire_skip",), firing.fire_skip),
    Family(("burst_drain", "burst_first_high"), burst.burst),
    Family(("start_p50", "start_p99"), starting.start),
    Family(("lateness_p50", "lateness_p99", "lateness_stored_ratio"), lateness.lateness),
    Family(("takeover_kill",), takeover.takeover_kill),
    Family(("takeover_restart",), takeover.takeover_restart),
    Family(("restore_cold", "restore_warm"), restore.restore),
    Family(("restore_lateness_p99",), restore.restore_lateness),
    Family(("worker_noop",), working.worker_noop),
    Family(("worker_http",), working.worker_http),
    Family(("saturated_worker_p99",), saturation.saturated),
    Family(("projection_sqlite",), projection.projection_sqlite),
    Family(("projection_postgres",), projection.projection_postgres),
    Family(("api_write_p99",), api.api_write),
    Family(("api_read_p99",), api.api_read),
    Family(("idle_cpu",), memory.idle_cpu),
    Family(("stored_memory_ratio",), memory.stored_memory_ratio),
    Family(("memory_growth",), memory.memory_growth),
)
NAMES = tuple(name for family in FAMILIES for name in family.names)
