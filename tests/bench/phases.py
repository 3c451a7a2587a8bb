"""What a scheduler's own log tells about its partitions."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple


class Entered(NamedTuple):
    """A partition has entered a phase at that instant, epoch milliseconds."""

    at: int
    phase: str


def phases(log: Path) -> list[Entered]:
    """In order; the first comes right after the assignment."""
    return [
        Entered(_instant(line), line["phase"])
        for line in _lines(log)
        if line.get("action") == "partition_phase"
    ]


def timeline(log: Path, since: int) -> dict[str, float]:
    """Seconds from that instant until the first partition entered each phase."""
    seconds: dict[str, float] = {}
    for entered in phases(log):
        if entered.at >= since:
            seconds.setdefault(entered.phase, (entered.at - since) / 1000)
    return seconds


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text("utf-8").splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def _instant(line: dict[str, Any]) -> int:
    return int(datetime.fromisoformat(line["time"]).timestamp() * 1000)
