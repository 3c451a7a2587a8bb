"""Tenants take turns, and no priority starves."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.jobs import PRIORITIES, Priority
from tocsin_worker.intake.turns import WEIGHTS, PriorityChoice, TenantTurns

Step = tuple[str, int] | None


class NaiveTurns:
    """A list of tenants in the order of their turns, and a list of items for each."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.items: dict[str, list[int]] = {}

    def put(self, tenant: str, item: int) -> None:
        if tenant not in self.order:
            self.order.append(tenant)
        self.items.setdefault(tenant, []).append(item)

    def take(self) -> int:
        tenant = self.order.pop(0)
        item = self.items[tenant].pop(0)
        if self.items[tenant]:
            self.order.append(tenant)
        return item

    def remove(self, multiple: int) -> None:
        for tenant in list(self.order):
            self.items[tenant] = [i for i in self.items[tenant] if i % multiple]
            if not self.items[tenant]:
                self.order.remove(tenant)


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.integers(2, 4),
            st.tuples(st.sampled_from("abc"), st.integers(0, 99)),
        )
    )
)
def test_turns_are_those_of_the_naive_model(steps: list[int | tuple[str, int] | None]) -> None:
    turns: TenantTurns[int] = TenantTurns()
    model = NaiveTurns()
    for step in steps:
        if isinstance(step, tuple):
            turns.put(*step)
            model.put(*step)
        elif isinstance(step, int):
            turns.remove(lambda item, step=step: item % step == 0)  # type: ignore[misc]
            model.remove(step)
        elif model.order:
            assert turns.take() == model.take()
        assert len(turns) == sum(map(len, model.items.values()))


def test_ten_runs_of_one_tenant_do_not_wait_for_a_hundred_thousand_of_another() -> None:
    turns: TenantTurns[str] = TenantTurns()
    for _ in range(100_000):
        turns.put("big", "big")
    for _ in range(10):
        turns.put("small", "small")
    assert Counter(turns.take() for _ in range(20)) == {"big": 10, "small": 10}


def test_taking_from_nothing_is_an_error() -> None:
    with pytest.raises(LookupError):
        TenantTurns[int]().take()


def test_out_of_twelve_eight_are_high_three_normal_and_one_low() -> None:
    choice = PriorityChoice(strict=False)
    assert Counter(choice.choose(PRIORITIES) for _ in range(12)) == WEIGHTS


@given(st.lists(st.sets(st.sampled_from(PRIORITIES), min_size=1), max_size=200))
def test_what_waits_all_the_time_is_chosen_within_thirteen_choices(
    waiting: list[set[Priority]],
) -> None:
    """However the others come and go."""
    choice = PriorityChoice(strict=False)
    since_low = 0
    for others in waiting:
        chosen = choice.choose([p for p in PRIORITIES if p in others or p == "low"])
        since_low = 0 if chosen == "low" else since_low + 1
        assert since_low <= 13


@given(st.sets(st.sampled_from(PRIORITIES), min_size=1))
def test_a_strict_choice_is_the_highest(waiting: set[Priority]) -> None:
    choice = PriorityChoice(strict=True)
    in_order = [p for p in PRIORITIES if p in waiting]
    assert [choice.choose(in_order) for _ in range(20)] == in_order[:1] * 20
