"""What the shell offers behind a half-typed word. Nothing here may fail or take long."""

from contextlib import suppress
from itertools import islice
from typing import get_args

from tocsin.model.events import EventType
from tocsin.model.runs import RunStatus, SaidType
from tocsin_cli.invocation import Invocation

_MOST = 100
_PATIENCE_S = 1.0


def statuses(incomplete: str) -> list[str]:
    """Those of runs."""
    return [status for status in get_args(RunStatus) if status.startswith(incomplete)]


def event_types(incomplete: str) -> list[str]:
    """Those of decisions, then what workers say of runs."""
    known = (*get_args(EventType), *get_args(SaidType))
    return [word for word in known if word.startswith(incomplete)]


def job_ids(incomplete: str) -> list[str]:
    """Of the gateway, if it answers at once."""
    from tocsin.client import TocsinError
    from tocsin.settings import InvalidSettings
    from tocsin_cli.connection import gateway

    with (
        suppress(TocsinError, InvalidSettings, OSError),
        gateway(Invocation(), timeout=_PATIENCE_S, retries=0) as tocsin,
    ):
        jobs = tocsin.list(text=incomplete or None, page_size=_MOST)
        names = [job.job_id for job in islice(jobs, _MOST)]
        return [name for name in names if name.startswith(incomplete)]
    return []
