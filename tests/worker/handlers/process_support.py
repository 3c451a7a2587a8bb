"""Runs of handler `process`, for tests."""

from typing import Any

from tocsin.model.runs import Run
from tocsin_worker.testing import handler_run


def process_run(*argv: str, payload: object = None, **config: Any) -> Run:
    """`payload`: encoded as JSON."""
    return handler_run("process", {"argv": argv, **config}, payload)
