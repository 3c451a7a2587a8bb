"""Who is next: tenants in turn, priorities by weight."""

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from tocsin.model.jobs import PRIORITIES, Priority

T = TypeVar("T")

WEIGHTS: Mapping[Priority, int] = {"high": 8, "normal": 3, "low": 1}


class TenantTurns(Generic[T]):
    """A queue in which tenants take turns; the items of one tenant keep their order.

    A tenant that comes back after its queue ran empty waits behind those already waiting.
    """

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[T]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, tenant: str, item: T) -> None:
        queue = self._queues.get(tenant)
        if queue is None:
            queue = self._queues[tenant] = deque()
        queue.append(item)
        self._size += 1

    def take(self) -> T:
        """The next item; raises `LookupError` when there is none."""
        if not self._queues:
            raise LookupError("nothing is waiting")
        tenant, queue = next(iter(self._queues.items()))
        item = queue.popleft()
        self._size -= 1
        if queue:
            self._queues.move_to_end(tenant)
        else:
            del self._queues[tenant]
        return item

    def remove(self, unwanted: Callable[[T], bool]) -> None:
        """Drop every item for which `unwanted` holds; the others keep their places."""
        for tenant, queue in list(self._queues.items()):
            kept = deque(item for item in queue if not unwanted(item))
            self._size -= len(queue) - len(kept)
            if kept:
                self._queues[tenant] = kept
            else:
                del self._queues[tenant]


class PriorityChoice:
    """Chooses among the priorities that have something waiting.

    By weight: smooth weighted round robin, in which each priority collects its weight as credit
    in every choice it takes part in, the richest is chosen and pays what was given out. So out of
    12 choices with all three waiting 8 are high, 3 normal and 1 low, and low waits for no more
    than 12. Strict: always the highest.
    """

    def __init__(self, *, strict: bool, weights: Mapping[Priority, int] = WEIGHTS) -> None:
        self._strict = strict
        self._weights = dict(weights)
        self._credit: dict[Priority, int] = dict.fromkeys(PRIORITIES, 0)

    def choose(self, waiting: Sequence[Priority]) -> Priority:
        """One of `waiting`, which holds at least one priority, highest first."""
        if self._strict or len(waiting) == 1:
            return waiting[0]
        for priority in waiting:
            self._credit[priority] += self._weights[priority]
        chosen = max(waiting, key=self._credit.__getitem__)
        self._credit[chosen] -= sum(self._weights[priority] for priority in waiting)
        return chosen
