"""Job documents for tests."""

from typing import Any

NOOP: dict[str, Any] = {"schedule": {"cron": "0 7 * * *"}, "handler": {"type": "noop"}}


def job(**changes: Any) -> dict[str, Any]:
    """A small valid job with some fields set."""
    return {**NOOP, **changes}


def http_job(**changes: Any) -> dict[str, Any]:
    """A job with an HTTP handler with some of the handler's fields set."""
    handler = {"type": "http", "method": "POST", "url": "http://localhost:9000/hello"}
    return job(handler={**handler, **changes})
