"""What the gateway's exit code says."""

from typing import Final

from tocsin.broker.errors import PropertiesRefused, Retry

FAILED: Final = 1
INVALID: Final = 2
UNREACHABLE: Final = 3


def exit_code(error: BaseException) -> int:
    """Of a process that ends with this error: settings that cannot be, Kafka that cannot be
    reached, or something else that failed."""
    if isinstance(error, PropertiesRefused):
        return INVALID
    return UNREACHABLE if isinstance(error, Retry) else FAILED
