"""The local stores on the disk of a scheduler's node."""

import shutil
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from tests.oracle.knowledge import Standing
from tocsin_scheduler.shell.checkpoint import read_checkpoint
from tocsin_scheduler.store.rocks import RocksStores


def stores(disk: Path) -> list[Path]:
    """The directories of a node's databases, one a partition, by partition."""
    found = (path for path in disk.glob("*/*/") if path.suffix[1:].isdigit())
    return sorted(found, key=lambda path: int(path.suffix[1:]))


def last_owner(disks: Iterable[Path], partition: int, standing: Standing) -> Path:
    """The store of the node that has committed last of the partition, on one of these disks."""
    found = [
        path
        for disk in disks
        for path in stores(disk)
        if int(path.suffix[1:]) == partition and _stands(path) == standing
    ]
    assert found, f"no store of partition {partition} is where its last owner has left off"
    return found[0]


def _stands(path: Path) -> Standing | None:
    with closing(RocksStores(path.parent).open(path.name)) as store:
        checkpoint = read_checkpoint(store)
    return None if checkpoint is None else Standing(checkpoint.place, checkpoint.jobs)


def replace_stores(disk: Path, foreign: Path) -> int:
    """Each store holds, under its own name, what that of another node holds; how many there are."""
    pairs = list(zip(stores(disk), stores(foreign), strict=False))
    for own, other in pairs:
        shutil.rmtree(own)
        shutil.copytree(other, own)
    return len(pairs)
