"""The name of this process among those of its node, and its directory.

A process takes the first free place under `STATE_DIR`: with the node id `a` the directories are
`a-0`, `a-1`, … With a node id the name stays the same over a restart, so the process is a static
group member; without, it is only a directory whose stores may be used again. The lock ends with
the process, however that ends.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

ANONYMOUS = "anonymous"


class NodePlace(NamedTuple):
    """name: of transactions, and of the group member if `is_static`. folder: for its stores."""

    name: str
    folder: Path
    is_static: bool


@contextmanager
def take_node_place(state_dir: Path, node_id: str | None) -> Iterator[NodePlace]:
    """The first free place. Raises OSError where `state_dir` cannot be written."""
    for number in count():
        name = f"{node_id or ANONYMOUS}-{number}"
        folder = state_dir / name
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            if _is_ours(lock.fileno()):
                yield NodePlace(name, folder, node_id is not None)
                return


def _is_ours(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
