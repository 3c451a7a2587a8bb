"""Programs of the machine, called for their answer."""

import subprocess
from collections.abc import Sequence

from tocsin.broker.local.errors import LocalBrokerError


def answers(command: Sequence[str], timeout_s: float) -> str | None:
    """What `command` prints, both streams; None if it is missing, fails or takes longer."""
    try:
        done = subprocess.run(  # noqa: S603 — an argument list made here, no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def must(command: Sequence[str], what: str) -> None:
    """Run `command` to its end.

    Raises LocalBrokerError: `what` could not be done, and the end of what the command printed.
    """
    done = subprocess.run(  # noqa: S603 — an argument list made here, no shell
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise LocalBrokerError(f"could not {what}: {done.stdout[-2_000:].strip()}")
