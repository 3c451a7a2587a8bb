"""Log lines: a sentence for people and, beside it, a stable `action` for programs.

    log = logging.getLogger(__name__)
    log.info("took over partition %d", p, extra={"action": "partition_claimed", "partition": p})

On a terminal a line reads well; anywhere else it is one JSON object. What `extra` carries stands
in both. Payloads and secrets are never given to a logger.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

_OF_EVERY_RECORD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}


def configure_logging(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send all log records of this process from `level` up to `stream`, by default stderr.

    Called once, by the entry point of a process. Raises ValueError for an unknown level.
    """
    output = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(output)
    handler.setFormatter(HumanFormatter() if output.isatty() else JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)


class HumanFormatter(logging.Formatter):
    """`14:05:09.120 WARNING sentence (action=… partition=3)`, in the machine's local time."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).astimezone()
        fields = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        line = f"{time:%H:%M:%S}.{int(record.msecs):03} {record.levelname:<7} {record.getMessage()}"
        line += f" ({fields})" if fields else ""
        return "\n".join([line, *_trace(self, record)])


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (RFC 3339, UTC), level, logger, action, message, and the rest.

    `action` is always there, null where the caller named none.
    """

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC)
        fields = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "action": None,
            "message": record.getMessage(),
            **_fields(record),
        }
        if trace := "\n".join(_trace(self, record)):
            fields["trace"] = trace
        return json.dumps(fields, ensure_ascii=False, default=str)


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    """What the caller's `extra` brought, `action` first."""
    extra = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
    return {"action": extra.pop("action"), **extra} if "action" in extra else extra


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    trace = [formatter.formatException(record.exc_info)] if record.exc_info else []
    return trace + ([formatter.formatStack(record.stack_info)] if record.stack_info else [])
