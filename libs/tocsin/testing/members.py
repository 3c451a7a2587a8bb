"""Group membership in memory: the listener's side of a rebalance."""

from collections.abc import Collection, Mapping, Sequence

from tocsin.broker.errors import BrokerError
from tocsin.broker.port import (
    AssignmentListener,
    Committed,
    Record,
    TopicPartition,
)
from tocsin.testing.faults import Faults
from tocsin.testing.groups import Generation, Group, Membership
from tocsin.testing.readers import Cursors


class MemoryGroupMember:
    """See `tocsin.broker.port.GroupMember`. Nothing happens between its polls."""

    def __init__(self, group: Group, instance_id: str | None, faults: Faults) -> None:
        self._group = group
        self._instance_id = instance_id
        self._faults = faults
        self._membership: Membership | None = None
        self._listener: AssignmentListener | None = None
        self._closed = False

    def join(self, topic: str, listener: AssignmentListener) -> None:
        self._join(frozenset({topic}), listener)

    def poll(self, timeout: float) -> None:
        with self._faults.during("poll"):
            self._rebalance()

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self._membership.held) if self._membership else frozenset()

    def group_metadata(self) -> Generation:
        return self._group.metadata(self._membership)

    def close(self) -> None:
        if self._closed or self._membership is None or self._listener is None:
            return
        self._closed = True
        if self._membership.held:
            self._listener.on_revoke(frozenset(self._membership.held))
        if self._instance_id is None:
            self._group.leave(self._membership)

    def expire(self) -> None:
        """As if this process had been dead or frozen for the session time-out: the group goes
        on without it. It learns so (`on_lost`) if it ever polls again, and joins anew."""
        if self._membership is not None:
            self._group.leave(self._membership)

    def _join(self, topics: frozenset[str], listener: AssignmentListener) -> None:
        self._listener = listener
        self._membership = self._group.join(topics, self._instance_id)

    def _rebalance(self) -> None:
        if self._membership is None or self._listener is None:
            return
        self._group.raise_if_replaced(self._membership)
        if not self._group.is_member(self._membership):
            self._start_over(self._membership, self._listener)
            return
        revoked = self._group.to_revoke(self._membership)
        if revoked:
            self._give_up(revoked, self._membership, self._listener)
        assigned = self._group.take(self._membership)
        if assigned:
            self._assigned(assigned)
            self._listener.on_assign(assigned)

    def _start_over(self, membership: Membership, listener: AssignmentListener) -> None:
        self._membership = self._group.join(membership.topics, self._instance_id)
        if membership.held:
            self._revoked(frozenset(membership.held))
            listener.on_lost(frozenset(membership.held))

    def _give_up(
        self,
        partitions: frozenset[TopicPartition],
        membership: Membership,
        listener: AssignmentListener,
    ) -> None:
        try:
            listener.on_revoke(partitions)
        finally:
            self._revoked(partitions)
            self._group.release(membership, partitions)

    def _assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Before the listener hears of them."""

    def _revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Before anybody else can have them."""


class MemoryGroupConsumer(MemoryGroupMember):
    """See `tocsin.broker.port.GroupConsumer`."""

    def __init__(
        self, group: Group, instance_id: str | None, faults: Faults, cursors: Cursors
    ) -> None:
        super().__init__(group, instance_id, faults)
        self._cursors = cursors
        self._commit_error: BrokerError | None = None

    def subscribe(self, topics: Sequence[str], listener: AssignmentListener) -> None:
        self._join(frozenset(topics), listener)

    def poll_batch(self, max_records: int, timeout: float) -> list[Record]:
        with self._faults.during("poll_batch"):
            self._rebalance()
            self._raise_commit_error()
            return self._cursors.read(max_records)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        with self._faults.during("commit_offsets"):
            values = {tp: (offset, "") for tp, offset in offsets.items()}
            self._group.commit(self.group_metadata(), values)

    def commit_later(self, offsets: Mapping[TopicPartition, int]) -> None:
        try:
            self.commit(offsets)
        except BrokerError as error:
            self._commit_error = error

    def committed(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, Committed]:
        with self._faults.during("committed"):
            self._group.stable(partitions)
            return self._group.fetch(partitions)

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        self._cursors.pause(partitions)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        self._cursors.resume(partitions)

    def _raise_commit_error(self) -> None:
        error, self._commit_error = self._commit_error, None
        if error is not None:
            raise error

    def _assigned(self, partitions: frozenset[TopicPartition]) -> None:
        starts = self._cursors.begin_offsets(partitions)
        for tp, committed in self._group.fetch(partitions).items():
            if committed.offset is not None:
                starts[tp] = committed.offset
        self._cursors.assign(starts)

    def _revoked(self, partitions: frozenset[TopicPartition]) -> None:
        self._cursors.unassign(partitions)
