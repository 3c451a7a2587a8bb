"""How many runs of one handler, or against one host, a worker executes at a time."""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tocsin.model.jobs import PRIORITIES, Priority
from tocsin.model.runs import Error, Run
from tocsin_worker.intake.partition import Delivery, RunsPartition
from tocsin_worker.intake.turns import TenantTurns
from tocsin_worker.pace import Pace
from tocsin_worker.targets import target_host

HOLD_MS = 1_000
"""So long the first that meets a limit may wait while others wait behind it for nothing else."""


@dataclass(frozen=True, slots=True)
class ConcurrencyLimits:
    """Of one worker. handlers: by handler type. host: for each host; None = no limit."""

    handlers: Mapping[str, int] = field(default_factory=dict)
    host: int | None = None


class _Limited(NamedTuple):
    """What a limit counts: a handler type, or a host."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class _Parked(NamedTuple):
    """What a delivery waits for, and since when, by a clock that never steps."""

    limited: _Limited
    since: int


class Concurrency:
    """Counts what executes, and keeps what has to wait for it without a slot.

    What waits goes before what is read later: the higher priority first, tenants in turn. It is
    unstarted meanwhile, as if nobody had looked at it. Belongs to the event loop's thread.
    """

    def __init__(self, limits: ConcurrencyLimits, monotonic_ms: Callable[[], int]) -> None:
        self._limits = limits
        self._monotonic_ms = monotonic_ms
        self._is_unlimited = not limits.handlers and limits.host is None
        self._executing: Counter[_Limited] = Counter()
        self._waiting: defaultdict[_Limited, dict[Priority, TenantTurns[Delivery]]] = defaultdict(
            lambda: {priority: TenantTurns() for priority in PRIORITIES}
        )
        self._parked: dict[Delivery, _Parked] = {}
        self._open: dict[_Limited, None] = {}
        self._paces: dict[_Limited, Pace] = {}
        self._hosts: dict[tuple[str, int], _Limited | None] = {}
        self._arriving: defaultdict[_Limited, deque[asyncio.Future[None]]] = defaultdict(deque)

    def admit(self, delivery: Delivery) -> bool:
        """Whether it may execute now, and is counted; else it waits here."""
        if self._is_unlimited:
            return True
        limited = list(self._limited(delivery.run))
        for each in limited:
            if self._executing[each] >= self._limit_of(each):
                self._park(delivery, each)
                return False
        self._executing.update(limited)
        return True

    def begun(self, run: Run) -> None:
        """One that was admitted executes."""
        if self._limits.host is not None:
            self._hosts[_key(run)] = _host_of(run)

    def repeated(self, run: Run) -> None:
        """One that was admitted executes already: it counts once."""
        for each in self._limited(run):
            self._leave(each)

    def ended(self, run: Run, duration_ms: int | None) -> None:
        """It executes no more. None: its handler was never called."""
        if self._is_unlimited:
            return
        for each in self._limited(run):
            if duration_ms is not None and each in self._paces:
                self._paces[each].took(duration_ms)
            if each.kind == "handler":
                self._leave(each)
        host = self._hosts.pop(_key(run), None)
        if host is not None:
            self._leave(host)

    def is_at(self, run: Run, host: str) -> bool:
        """Whether an executing run is counted at this host, or need not be counted."""
        return self._hosts.get(_key(run), _Limited("host", host)) == _Limited("host", host)

    def leave_host(self, run: Run) -> None:
        """It executes, and calls the host no more at which it is counted."""
        host, self._hosts[_key(run)] = self._hosts[_key(run)], None
        if host is not None:
            self._leave(host)

    async def enter_host(self, run: Run, host: str) -> None:
        """After `leave_host`: wait until the limit of another host lets it in, before all that
        waits without a slot."""
        to = _Limited("host", host)
        if self._executing[to] < self._limit_of(to):
            self._executing[to] += 1
        else:
            await self._arrive(to)
        if _key(run) in self._hosts:
            self._hosts[_key(run)] = to
        else:  # it was abandoned meanwhile
            self._leave(to)

    @property
    def makes_wait(self) -> bool:
        """Whether anything waits here."""
        return bool(self._parked)

    def take(self) -> Delivery | None:
        """One that has waited and is admitted now; None where there is none."""
        while self._open:
            each = next(iter(self._open))
            delivery = self._first(each)
            if delivery is None:
                del self._open[each]
            elif not delivery.partition.withdrawn and self.admit(delivery):
                return delivery
        return None

    def give_up(self) -> list[Delivery]:
        """Nothing waits here any more; what did."""
        waited, self._parked = list(self._parked), {}
        self._waiting.clear()
        return [delivery for delivery in waited if not delivery.partition.withdrawn]

    def drop(self, deliveries: Collection[Delivery]) -> None:
        """These wait no more."""
        gone = set(deliveries)
        for each in {self._parked.pop(one).limited for one in gone if one in self._parked}:
            for queue in self._waiting[each].values():
                queue.remove(gone.__contains__)

    def in_the_way(self, partition: RunsPartition) -> list[tuple[Delivery, Error]]:
        """Those from a partition of which nothing else can begin before they have, if the first has
        waited for `HOLD_MS`, or would by what was seen lately. They wait here no more; with each
        why, and when it should come again, so that no more come than the limit lets through."""
        waiting = sorted(
            (one for one in self._parked if one.partition is partition), key=lambda one: one.offset
        )
        now = self._monotonic_ms()
        if not waiting or waiting[0].offset != partition.first_offered:
            return []
        if not self._waits_too_long(self._parked[waiting[0]], now):
            return []
        errors = [self._saturated(self._parked[one].limited, now) for one in waiting]
        self.drop(waiting)
        return list(zip(waiting, errors, strict=True))

    def forget(self) -> None:
        """What was learnt of limits that nobody is about to meet again."""
        now = self._monotonic_ms()
        self._paces = {
            each: pace
            for each, pace in self._paces.items()
            if self._executing[each] or not pace.is_idle(now)
        }

    def _waits_too_long(self, parked: _Parked, now: int) -> bool:
        limit, pace = self._limit_of(parked.limited), self._paces.get(parked.limited)
        if now - parked.since >= HOLD_MS:
            self._pace(parked.limited).stood_still(HOLD_MS, limit)
            return True
        return pace is not None and pace.wait_ms(limit) >= HOLD_MS

    def _pace(self, limited: _Limited) -> Pace:
        return self._paces.setdefault(limited, Pace())

    def _saturated(self, limited: _Limited, now: int) -> Error:
        limit = self._limit_of(limited)
        delay = self._pace(limited).next_turn(now, limit) - now
        message = f"{limited} is at its limit, {limit}, in this worker"
        return Error(code="saturated", message=message, retry_after_ms=delay)

    def _park(self, delivery: Delivery, each: _Limited) -> None:
        self._parked[delivery] = _Parked(each, self._monotonic_ms())
        self._waiting[each][delivery.run.priority].put(delivery.run.tenant, delivery)

    async def _arrive(self, to: _Limited) -> None:
        """Whoever leaves hands the place on."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arriving[to].append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self._leave(to)
            raise

    def _leave(self, each: _Limited) -> None:
        arriving = self._arriving.get(each)
        while arriving:
            place = arriving.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._arriving.pop(each, None)
        self._executing[each] -= 1
        if each in self._waiting:
            self._open[each] = None
        if self._executing[each] == 0:
            del self._executing[each]
            self._forget_pace(each)

    def _forget_pace(self, each: _Limited) -> None:
        """Once nobody is to come again."""
        pace = self._paces.get(each)
        if pace is not None and pace.is_idle(self._monotonic_ms()):
            del self._paces[each]

    def _limited(self, run: Run) -> Iterator[_Limited]:
        if run.handler.type in self._limits.handlers:
            yield _Limited("handler", run.handler.type)
        if self._limits.host is not None and (host := _host_of(run)) is not None:
            yield host

    def _first(self, each: _Limited) -> Delivery | None:
        """The next that waits for this, if there is room for one."""
        if self._executing[each] >= self._limit_of(each):
            return None
        for queue in self._waiting[each].values():
            if queue:
                delivery = queue.take()
                del self._parked[delivery]
                return delivery
        del self._waiting[each]
        return None

    def _limit_of(self, each: _Limited) -> int:
        if each.kind == "handler":
            return self._limits.handlers[each.name]
        assert self._limits.host is not None
        return self._limits.host


def _host_of(run: Run) -> _Limited | None:
    """Where it will call first."""
    host = target_host(run)
    return None if host is None else _Limited("host", host)


def _key(run: Run) -> tuple[str, int]:
    return run.run_id, run.attempt
