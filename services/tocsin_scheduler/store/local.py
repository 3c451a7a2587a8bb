"""The stores of one node, as the shell uses them."""

from typing import Protocol

from tocsin_scheduler.core.store import Store


class LocalStore(Store, Protocol):
    """A partition's store on this node. It is a cache: whatever it holds can be replayed."""

    def wipe(self) -> None:
        """Delete everything; the store stays open. Also where it is damaged."""

    def delete(self) -> None:
        """Let go, and leave nothing behind. Raises nothing: also where it is damaged, or the disk
        is full."""

    def close(self) -> None:
        """Let go, so that another process can open it; nothing to do where that was done. Nothing
        else is used after that."""


class LocalStores(Protocol):
    """Opens stores by name. A name is good for a file."""

    def open(self, name: str) -> LocalStore:
        """The store of that name, made empty if there is none or if it cannot be read.

        Raises `StoreDamaged` only where even an empty one cannot be made: rights, a full disk,
        another process that has it open.
        """
