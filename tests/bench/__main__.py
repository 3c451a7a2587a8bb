"""`python -m tests.bench`: one JSON object a line, the machine first, then one for each benchmark.

    ONLY=fire_skip,start_p99   these only
    BENCH_SCALE=full           the large sizes
    BENCH_SIZE=0.01            a hundredth of everything, to see that it works
    TOCSIN_BROKERS=HOST:PORT   on this cluster, not on a local broker

What a benchmark means is in `docs/reference/benchmarks.md`. It is not a test: one that breaks
says so in its line, and the next one runs. The exit code is 0, or 2 for a name that is none.
"""

import json
import os
import signal
import sys
from collections.abc import Iterable, Sequence

from tests.bench.catalogue import FAMILIES, NAMES, Family
from tests.bench.machine import machine_line
from tests.bench.size import Size, size_from
from tests.bench.stage import open_stage

USAGE = 2
INTERRUPTED = 130


def main() -> int:
    names = _wanted(os.environ.get("ONLY", ""))
    if unknown := [name for name in names if name not in NAMES]:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(NAMES)}")
        return USAGE
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    brokers = os.environ.get("TOCSIN_BROKERS") or None
    print(machine_line(brokers), flush=True)
    try:
        for family in FAMILIES:
            wanted = [name for name in family.names if name in names]
            if wanted:
                _run(family, wanted, size_from(os.environ), brokers)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _wanted(only: str) -> Sequence[str]:
    return [name.strip() for name in only.split(",") if name.strip()] or NAMES


def _run(family: Family, wanted: Iterable[str], size: Size, brokers: str | None) -> None:
    """Measure until all that is wanted of the family is known."""
    missing = list(wanted)
    try:
        with open_stage(size, brokers) as stage:
            for measurement in family.run(stage):
                if measurement.bench in missing:
                    missing.remove(measurement.bench)
                    print(measurement.line(), flush=True)
                if not missing:
                    break
    except Exception as error:
        for name in missing:
            line = {"bench": name, "error": f"{type(error).__name__}: {error}"}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
