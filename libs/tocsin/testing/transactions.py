"""The transaction coordinator in memory: one open transaction an id, epochs, fencing."""

from typing import TYPE_CHECKING

from tocsin.broker.errors import Fenced
from tocsin.broker.port import Committed, TopicPartition

if TYPE_CHECKING:
    from tocsin.testing.groups import Group
    from tocsin.testing.log import PartitionLog


class Transaction:
    """What one transaction has written, and whether it was undone."""

    def __init__(self) -> None:
        self.aborted = False
        self.logs: list[PartitionLog] = []
        self.groups: list[Group] = []

    def add_offsets(self, group: "Group", offsets: dict[TopicPartition, Committed]) -> None:
        """Hold these offsets back until the transaction ends."""
        group.pending.setdefault(self, {}).update(offsets)
        if group not in self.groups:
            self.groups.append(group)

    def end(self, *, commit: bool) -> None:
        """Decide it, everywhere at once."""
        self.aborted = not commit
        for log in self.logs:
            log.end_transaction(self)
        for group in self.groups:
            offsets = group.pending.pop(self)
            if commit:
                group.committed.update(offsets)


class TransactionCoordinator:
    """Knows the newest epoch of every transactional id; older ones are fenced."""

    def __init__(self) -> None:
        self._epochs: dict[str, int] = {}
        self._open: dict[str, Transaction] = {}

    def init(self, transactional_id: str) -> int:
        """Abort what is open under the id and give out a new epoch."""
        self._end(transactional_id, commit=False)
        epoch = self._epochs.get(transactional_id, -1) + 1
        self._epochs[transactional_id] = epoch
        return epoch

    def check(self, transactional_id: str, epoch: int) -> None:
        """Raises `Fenced` for every epoch but the newest."""
        if self._epochs.get(transactional_id) != epoch:
            raise Fenced(f"a newer producer has taken {transactional_id!r}", code="_FENCED")

    def current(self, transactional_id: str, epoch: int) -> Transaction:
        """The open transaction; one is opened by its first use."""
        self.check(transactional_id, epoch)
        transaction = self._open.get(transactional_id)
        if transaction is None:
            transaction = self._open[transactional_id] = Transaction()
        return transaction

    def end(self, transactional_id: str, epoch: int, *, commit: bool) -> None:
        """Commit or abort what is open, which may be nothing."""
        self.check(transactional_id, epoch)
        self._end(transactional_id, commit=commit)

    def expire(self) -> None:
        """Every open transaction has passed its time-out: abort it and fence its producer."""
        for transactional_id in list(self._open):
            self.init(transactional_id)

    def _end(self, transactional_id: str, *, commit: bool) -> None:
        transaction = self._open.pop(transactional_id, None)
        if transaction is not None:
            transaction.end(commit=commit)
