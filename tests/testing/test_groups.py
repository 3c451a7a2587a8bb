"""Membership in memory, whatever comes in whatever order."""

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from tests.broker.listeners import Recorder
from tocsin.testing import MemoryCluster
from tocsin.testing.members import MemoryGroupMember

PARTITIONS = 5


class GroupMachine(RuleBasedStateMachine):
    """Members come, leave and freeze. A frozen one still believes it holds what it held."""

    members = Bundle("members")

    def __init__(self) -> None:
        super().__init__()
        self.cluster = MemoryCluster()
        self.cluster.create_topic("jobs", PARTITIONS)
        self.live: dict[MemoryGroupMember, Recorder] = {}

    @rule(target=members)
    def join(self) -> MemoryGroupMember:
        member, heard = self.cluster.group_member("g"), Recorder()
        member.join("jobs", heard)
        self.live[member] = heard
        return member

    @rule(member=members)
    def poll(self, member: MemoryGroupMember) -> None:
        member.poll(0)

    @rule(member=consumes(members))
    def leave(self, member: MemoryGroupMember) -> None:
        member.close()
        assert self.live.pop(member).held == set()

    @rule(member=consumes(members))
    def freeze(self, member: MemoryGroupMember) -> None:
        member.expire()
        del self.live[member]

    @rule(rounds=st.just(PARTITIONS))
    def settle(self, rounds: int) -> None:
        for _ in range(rounds):
            for member in self.live:
                member.poll(0)
        counts = sorted(len(heard.held) for heard in self.live.values())
        if counts:
            assert sum(counts) == PARTITIONS
            assert counts[-1] - counts[0] <= 1

    @invariant()
    def no_two_live_members_hold_one_partition(self) -> None:
        held = [tp for heard in self.live.values() for tp in heard.held]
        assert len(held) == len(set(held))


TestGroupMachine = GroupMachine.TestCase


def test_a_settled_group_moves_as_little_as_it_can() -> None:
    cluster = MemoryCluster()
    cluster.create_topic("jobs", 6)
    members = [(cluster.group_member("g"), Recorder()) for _ in range(3)]
    for member, heard in members:
        member.join("jobs", heard)
        for _ in range(3):
            for each, _heard in members:
                each.poll(0)
    assert [len(heard.told("revoke")) for _, heard in members] == [4, 1, 0]
