"""The demo's jobs: one of each kind, and one that fails and is retried."""

from collections.abc import Mapping
from datetime import datetime, timedelta

SOON = timedelta(seconds=5)


def sample_jobs(receiver: str, now: datetime) -> dict[str, Mapping[str, object]]:
    """Definitions by job id; they call `receiver`, a URL."""
    return {
        "every-2-seconds": {
            "description": "A cron with seconds",
            "schedule": {"cron": "*/2 * * * * *"},
            "handler": _post(f"{receiver}/tick"),
        },
        "once": {
            "description": "A one-off, 5 seconds after the start",
            "schedule": {"at": now + SOON},
            "handler": _post(f"{receiver}/once"),
        },
        "interval": {
            "description": "An interval",
            "schedule": {"every": "5s"},
            "handler": _post(f"{receiver}/interval"),
        },
        "flaky": {
            "description": "Fails twice, and is retried",
            "schedule": {"every": "8s"},
            "handler": _post(f"{receiver}/flaky"),
            "retry": {"max_attempts": 4, "initial": "1s", "multiplier": 2, "max": "2s"},
        },
    }


def _post(url: str) -> dict[str, object]:
    return {"type": "http", "method": "POST", "url": url}
