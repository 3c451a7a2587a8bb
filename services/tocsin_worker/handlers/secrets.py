"""Secrets of the worker, by reference: `secret://NAME`.

A job names a secret; its value never leaves the worker that uses it: it stands in no record, no
log and no history. `NAME` is the file of that name in the secrets directory, else the environment
variable `TOCSIN_SECRET_NAME` (upper case, `-` and `.` as `_`). Other variables cannot be named, so
who may write jobs may not read the worker's environment.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tocsin.model.handlers.texts import SCHEME, secret_name


class MissingSecretError(LookupError):
    """A reference that this worker cannot resolve; the message names the secret and the places."""


class Secrets:
    """Looks secrets up at each use, so that a rotated file needs no restart."""

    def __init__(self, directory: Path | None, environment: Mapping[str, str] = os.environ) -> None:
        self._directory = directory
        self._environment = environment

    def resolve(self, text: str) -> str:
        """`text` itself, or the secret that it refers to; raises `MissingSecretError`."""
        if not text.startswith(SCHEME):
            return text
        name = secret_name(text)
        if name is None:
            raise MissingSecretError(f"{text[:128]!r} is not a reference to a secret")
        value = self._from_file(name)
        if value is None:
            value = self._environment.get(_variable(name))
        if value is None:
            raise MissingSecretError(
                f"this worker has no secret {name!r}: neither a file of that name in "
                f"TOCSIN_SECRETS_DIR nor the variable {_variable(name)}"
            )
        return value

    def _from_file(self, name: str) -> str | None:
        if self._directory is None:
            return None
        try:
            return (self._directory / name).read_text("utf-8").rstrip("\r\n")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise MissingSecretError(
                f"secret {name!r} is unreadable: {type(error).__name__}"
            ) from None


def _variable(name: str) -> str:
    return "TOCSIN_SECRET_" + re.sub(r"[.-]", "_", name).upper()
