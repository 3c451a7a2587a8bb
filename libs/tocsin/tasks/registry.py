"""The tasks that this process knows, by name."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tocsin.tasks.definition import Task

_TASKS: "dict[str, Task[..., Any]]" = {}


class CannotLoad(ValueError):
    """A module of tasks cannot be used; the message names it and says why."""


def register(made: "Task[..., Any]") -> None:
    """Raises ValueError where another function has the name."""
    known = _TASKS.get(made.name)
    if known is not None and _place(known) != _place(made):
        raise ValueError(f"two tasks are named {made.name!r}: {_place(known)} and {_place(made)}")
    _TASKS[made.name] = made


def load_tasks(modules: Sequence[str]) -> "Mapping[str, Task[..., Any]]":
    """Import the modules, also from the working folder, and return all tasks known then.

    Raises `CannotLoad`.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    for module in modules:
        _load(module)
    if not _TASKS:
        raise CannotLoad(
            f"{', '.join(modules)}: no function there is a task; write @task before it"
        )
    return MappingProxyType(_TASKS)


def _load(module: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise CannotLoad(f"{module}: {error}") from error
        raise CannotLoad(f"{module}: there is no such module in {Path.cwd()} or sys.path") from None
    except Exception as error:
        raise CannotLoad(f"{module}: {type(error).__name__}: {error}") from error


def _place(made: "Task[..., Any]") -> str:
    return f"{made.function.__module__}.{made.function.__qualname__}"
