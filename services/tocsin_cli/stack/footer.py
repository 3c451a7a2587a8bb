"""What stands under the table of runs: where to look, and what to try."""

import shutil
import sys
from pathlib import Path


def footer(gateway: str, receiver: str) -> str:
    """Commands that work as pasted in another terminal, in this folder."""
    return f"""\
Gateway   {gateway}
API docs  {gateway}/docs

A job of your own:
curl -X PUT {gateway}/v1/jobs/mine \\
  -H 'Content-Type: application/json' \\
  -d '{{"schedule": {{"every": "PT5S"}},
       "handler": {{"type": "http", "url": "{receiver}/mine"}}}}'

All runs:
{program()} run list

Ctrl-C stops everything."""


def program() -> str:
    """How this program was called, as the shell's user would write it."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{_short(Path(sys.executable))} -m tocsin_cli"
    found = shutil.which(called.name)
    return called.name if found and Path(found) == called else _short(called)


def _short(path: Path) -> str:
    """Relative where it is in this folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
