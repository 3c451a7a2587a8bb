"""Whose a container is, by its labels, and which containers are nobody's any more."""

from dataclasses import dataclass
from pathlib import Path

from tocsin import clock
from tocsin.model.runs import Run
from tocsin_worker.handlers.container.engine import Engine, Listed
from tocsin_worker.handlers.port import Context

_NODE = "io.tocsin.node"
_WORKER = "io.tocsin.worker"
_RUN = "io.tocsin.run-id"
_ATTEMPT = "io.tocsin.attempt"
_UNTIL = "io.tocsin.until"
MARGIN_MS = 60_000


@dataclass(frozen=True, slots=True)
class Orphan:
    """A container to be removed."""

    container: str
    names: frozenset[str]
    run_id: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where containers run, and whose they are. `node`: a name of this machine or node; `stable`:
    no other living process has it, so what another worker has made under it is an orphan."""

    socket: Path
    worker: str
    node: str
    stable: bool


def labels_of(run: Run, context: Context, node: str, grace_s: int) -> dict[str, str]:
    """`until`: epoch milliseconds after which no worker can still be busy with it."""
    until = context.started_time + run.timeout_ms + grace_s * 1000 + MARGIN_MS
    return {
        _NODE: node,
        _WORKER: context.worker,
        "io.tocsin.job-id": run.job_id,
        "io.tocsin.tenant": run.tenant,
        _RUN: run.run_id,
        _ATTEMPT: str(run.attempt),
        _UNTIL: str(until),
    }


async def overdue(engine: Engine) -> list[Orphan]:
    """Containers whose time is over, whoever made them."""
    now = clock.now_ms()
    found = await engine.labelled(_UNTIL)
    return [_orphan(one) for one in found if _number(one, _UNTIL) < now]


async def predecessors(engine: Engine, place: Place) -> list[Orphan]:
    """Containers of the workers that a node has had before this one, if its name tells."""
    if not place.stable:
        return []
    found = await engine.labelled(f"{_NODE}={place.node}")
    return [_orphan(one) for one in found if one.labels.get(_WORKER) != place.worker]


async def earlier_attempts(engine: Engine, run: Run) -> list[Orphan]:
    """Containers of attempts at the run before this one, whoever started them."""
    found = await engine.labelled(f"{_RUN}={run.run_id}")
    return [_orphan(one) for one in found if _number(one, _ATTEMPT) < run.attempt]


def _orphan(one: Listed) -> Orphan:
    names = frozenset(name.removeprefix("/") for name in one.names)
    return Orphan(one.id, names, one.labels.get(_RUN, ""))


def _number(one: Listed, label: str) -> int:
    """0 where somebody has changed it."""
    text = one.labels.get(label, "")
    return int(text) if text.isdecimal() else 0
