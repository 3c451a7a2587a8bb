"""The group coordinator in memory: members, generations, a sticky assignment, offsets.

A rebalance takes effect at once and raises the generation, as if every live member had joined
again in the background (as librdkafka does). Partitions that move go in two steps, as cooperative
groups do it: the old owner gives them up in its next poll, which raises the generation again;
then the new owner's next poll takes them up.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tocsin.broker.errors import (
    FENCED_INSTANCE,
    BrokerUnreachable,
    Die,
    Fenced,
    StaleGeneration,
)
from tocsin.broker.port import Committed, GroupMetadata, TopicPartition
from tocsin.testing.transactions import Transaction

UNJOINED = -1


@dataclass(frozen=True, slots=True)
class Generation(GroupMetadata):
    """What `GroupMetadata` hides: a member as it stood when asked."""

    group: "Group"
    member: "Membership"
    number: int


class Membership:
    """A member as the group sees it; `held` is what its listener has been told."""

    def __init__(self, topics: frozenset[str], instance_id: str | None) -> None:
        self.topics = topics
        self.instance_id = instance_id
        self.held: set[TopicPartition] = set()
        self.replaced = False


class Group:
    """One consumer group."""

    def __init__(self, partitions_of: Callable[[str], int | None]) -> None:
        self.generation = 0
        self.committed: dict[TopicPartition, Committed] = {}
        self.pending: dict[Transaction, dict[TopicPartition, Committed]] = {}
        self._partitions_of = partitions_of
        self._members: list[Membership] = []
        self._owners: dict[TopicPartition, Membership] = {}
        self._targets: dict[TopicPartition, Membership] = {}

    def join(self, topics: frozenset[str], instance_id: str | None) -> Membership:
        """Add a member; with the instance id of a present one, take its place and partitions.

        Raises `Die` for a topic that does not exist.
        """
        for topic in topics:
            if self._partitions_of(topic) is None:
                raise Die("the topic does not exist", code="UNKNOWN_TOPIC_OR_PART").at(topic)
        member = Membership(topics, instance_id)
        former = self._present(instance_id)
        if former is None:
            self._members.append(member)
            self._rebalance()
        else:
            self._replace(former, member)
        return member

    def leave(self, member: Membership) -> None:
        """Take a member out: it left, or its session has run out."""
        if member in self._members:
            self._members.remove(member)
            self._owners = {tp: m for tp, m in self._owners.items() if m is not member}
            self._rebalance()

    def is_member(self, member: Membership) -> bool:
        """False once it was put out or replaced."""
        return member in self._members

    def to_revoke(self, member: Membership) -> frozenset[TopicPartition]:
        """What the member holds and is to give up."""
        return frozenset(tp for tp in member.held if self._targets.get(tp) is not member)

    def release(self, member: Membership, partitions: Iterable[TopicPartition]) -> None:
        """The member has given these up."""
        for tp in partitions:
            member.held.discard(tp)
            self._owners.pop(tp, None)
        self.generation += 1

    def take(self, member: Membership) -> frozenset[TopicPartition]:
        """What is new for the member and free; it holds it from now on."""
        new = frozenset(
            tp
            for tp, target in self._targets.items()
            if target is member
            and tp not in member.held
            and self._owners.get(tp, member) is member
        )  # fmt: skip
        member.held |= new
        self._owners.update(dict.fromkeys(new, member))
        return new

    def check(self, generation: Generation) -> None:
        """Raises `StaleGeneration`, `Fenced` for a former member, `Die` for one replaced by
        its namesake. One that never joined passes while the group is empty, as in Kafka."""
        if generation.number == UNJOINED and not self._members:
            return
        if generation.member.replaced:
            raise _fenced_instance(generation.member)
        if generation.member not in self._members:
            raise Fenced("the member is not in the group", code="UNKNOWN_MEMBER_ID")
        if generation.number != self.generation:
            raise StaleGeneration(
                f"generation {generation.number} has passed, it is {self.generation} now",
                code="ILLEGAL_GENERATION",
            )

    def commit(
        self, generation: Generation, offsets: Mapping[TopicPartition, tuple[int, str]]
    ) -> None:
        """Set offsets outside any transaction; raises as `check`."""
        self.check(generation)
        self.committed.update((tp, Committed(*value)) for tp, value in offsets.items())

    def forget(self, topic: str) -> None:
        """The topic has been deleted."""
        self.committed = {tp: c for tp, c in self.committed.items() if tp.topic != topic}

    def commit_foreign(self, partition: TopicPartition, offset: int) -> None:
        """Set an offset as an operator's tool does, whoever is in the group."""
        self.committed[partition] = Committed(offset, "")

    def stable(self, partitions: Iterable[TopicPartition]) -> None:
        """Raises `BrokerUnreachable` where a transaction holds an offset back: a reader of
        stable offsets would wait for its end, and here no time passes while one waits."""
        for tp in partitions:
            if any(tp in offsets for offsets in self.pending.values()):
                raise BrokerUnreachable(
                    "a transaction with this offset is open", code="UNSTABLE_OFFSET_COMMIT"
                ).at(*tp)

    def fetch(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Committed]:
        """What was committed last."""
        return {tp: self.committed.get(tp, Committed(None, "")) for tp in partitions}

    def metadata(self, member: Membership | None) -> Generation:
        """The member as it stands now."""
        if member is None:
            return Generation(self, Membership(frozenset(), None), UNJOINED)
        return Generation(self, member, self.generation)

    def raise_if_replaced(self, member: Membership) -> None:
        """Raises `Die` when another process has come with the same instance id."""
        if member.replaced:
            raise _fenced_instance(member)

    def _present(self, instance_id: str | None) -> Membership | None:
        if instance_id is None:
            return None
        return next((m for m in self._members if m.instance_id == instance_id), None)

    def _replace(self, former: Membership, member: Membership) -> None:
        self._members[self._members.index(former)] = member
        former.replaced = True
        for places in (self._owners, self._targets):
            places.update({tp: member for tp, m in places.items() if m is former})
        if former.topics != member.topics:
            self._rebalance()

    def _rebalance(self) -> None:
        self.generation += 1
        self._targets = assign(self._wanted(), self._owners)

    def _wanted(self) -> dict[TopicPartition, list[Membership]]:
        """Every partition that somebody subscribes to, with those who do, oldest member first."""
        topics = sorted(set[str]().union(*(m.topics for m in self._members)))
        return {
            TopicPartition(topic, number): [m for m in self._members if topic in m.topics]
            for topic in topics
            for number in range(self._partitions_of(topic) or 0)
        }


def assign(
    wanted: Mapping[TopicPartition, list[Membership]],
    owners: Mapping[TopicPartition, Membership],
) -> dict[TopicPartition, Membership]:
    """Balanced to within one partition where subscriptions allow it, moving as few as possible;
    the same for the same history."""
    targets = {tp: owners[tp] for tp, able in wanted.items() if owners.get(tp) in able}
    load = {member: 0 for able in wanted.values() for member in able}
    for member in targets.values():
        load[member] += 1
    for tp, able in wanted.items():
        if tp not in targets:
            targets[tp] = min(able, key=load.__getitem__)
            load[targets[tp]] += 1
    for tp in reversed(list(wanted)):
        lightest = min(wanted[tp], key=load.__getitem__)
        if load[targets[tp]] > load[lightest] + 1:
            load[targets[tp]] -= 1
            load[lightest] += 1
            targets[tp] = lightest
    return targets


def _fenced_instance(member: Membership) -> Die:
    return Die(
        f"another process has joined the group as {member.instance_id!r}",
        code=FENCED_INSTANCE,
    )
