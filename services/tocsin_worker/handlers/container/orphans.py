"""Whose a container is, by its labels, and which containers are nobody's any more."""

from dataclasses import dataclass

from tocsin import clock
from tocsin.model.runs import Run
from tocsin_worker.handlers.container.engine import Engine, Listed
from tocsin_worker.handlers.port import Context

_NODE = "io.tocsin.node"
_RUN = "io.tocsin.run-id"
_ATTEMPT = "io.tocsin.attempt"
_UNTIL = "io.tocsin.until"
_MARGIN_MS = 60_000


@dataclass(frozen=True, slots=True)
class Orphan:
    """A container to be removed."""

    container: str
    run_id: str


def labels_of(run: Run, context: Context, node: str, grace_s: int) -> dict[str, str]:
    """`until`: epoch milliseconds after which no worker can still be busy with it."""
    until = context.started_time + run.timeout_ms + grace_s * 1000 + _MARGIN_MS
    return {
        _NODE: node,
        "io.tocsin.worker": context.worker,
        "io.tocsin.job-id": run.job_id,
        "io.tocsin.tenant": run.tenant,
        _RUN: run.run_id,
        _ATTEMPT: str(run.attempt),
        _UNTIL: str(until),
    }


async def orphans(engine: Engine, node: str, stable: bool) -> list[Orphan]:
    """Of a node whose worker has just started and has no container yet: all if nobody else can
    have its name, else those whose time is over."""
    found = await engine.labelled(f"{_NODE}={node}")
    return [_orphan(one) for one in found if stable or _number(one, _UNTIL) < clock.now_ms()]


async def earlier_attempts(engine: Engine, run: Run) -> list[Orphan]:
    """Containers of attempts at the run before this one, whoever started them."""
    found = await engine.labelled(f"{_RUN}={run.run_id}")
    return [_orphan(one) for one in found if _number(one, _ATTEMPT) < run.attempt]


def _orphan(one: Listed) -> Orphan:
    return Orphan(one.id, one.labels.get(_RUN, ""))


def _number(one: Listed, label: str) -> int:
    """0 where somebody has changed it."""
    text = one.labels.get(label, "")
    return int(text) if text.isdecimal() else 0
