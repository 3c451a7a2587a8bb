"""What a worker and its child processes tell each other: pickled tuples over a socket."""

from typing import Literal, NamedTuple

from tocsin.model.runs import Error


class Call(NamedTuple):
    """To the child: perform an attempt. scheduled_time: epoch milliseconds."""

    task: str
    payload: bytes | None
    run_id: str
    tenant: str
    job_id: str
    attempt: int
    max_attempts: int
    scheduled_time: int


class Begin(NamedTuple):
    """To the child, first of all: which modules hold the tasks."""

    modules: tuple[str, ...]


Stop = Literal["stop"]
"""To the child: the attempt under way is to end."""

Beat = Literal["beat"]
"""From the child: the task gets on."""


class Done(NamedTuple):
    """From the child: the result in JSON."""

    result: bytes


class Failed(NamedTuple):
    """From the child: why it has failed."""

    error: Error


Cancelled = Literal["cancelled"]
"""From the child: the task has given way."""
