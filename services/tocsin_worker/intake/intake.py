"""All runs that a worker has read, whatever their priority."""

from collections.abc import Callable, Mapping
from typing import Protocol

from tocsin.model.jobs import PRIORITIES, Priority
from tocsin_worker.intake.mailbox import Mailbox
from tocsin_worker.intake.partition import Delivery, RunsPartition
from tocsin_worker.intake.turns import PriorityChoice


class RunsLane(Protocol):
    """The runs of one priority, from wherever they come: see `Lane` and `ShareLane`."""

    @property
    def takeable(self) -> int: ...
    @property
    def unstarted(self) -> int: ...
    @property
    def places(self) -> list[str]: ...
    def room(self, free: int, *, handing_on: bool) -> int: ...
    def next(self) -> Delivery: ...
    def started(self, delivery: Delivery) -> None: ...
    def passed(self, delivery: Delivery) -> None: ...
    def when_committed(self, delivery: Delivery, call: Callable[[], None]) -> None: ...
    def commit_all(self) -> None: ...
    def overdue(self) -> list[Delivery]: ...
    def held_up(self) -> list[RunsPartition]: ...


class Intake:
    """Lanes by priority, with the mailboxes of their readers."""

    def __init__(
        self,
        lanes: Mapping[Priority, RunsLane],
        mailboxes: Mapping[Priority, Mailbox],
        choice: PriorityChoice,
    ) -> None:
        """A lane and a mailbox for every priority."""
        self._lanes = lanes
        self._mailboxes = mailboxes
        self._choice = choice

    @property
    def places(self) -> list[str]:
        """The partitions held, such as `high:3`."""
        return [place for priority in PRIORITIES for place in self._lanes[priority].places]

    @property
    def unstarted(self) -> int:
        """How many runs were read and not begun."""
        return sum(lane.unstarted for lane in self._lanes.values())

    def next(self) -> Delivery | None:
        """The next run: priorities by weight, tenants in turn. None when there is none. See
        `Lane.next`."""
        waiting = [priority for priority in PRIORITIES if self._lanes[priority].takeable]
        if not waiting:
            return None
        return self._lanes[self._choice.choose(waiting)].next()

    def started(self, delivery: Delivery) -> None:
        """See `Lane.started`."""
        self._lanes[delivery.partition.place.priority].started(delivery)

    def passed(self, delivery: Delivery) -> None:
        """See `Lane.passed`."""
        self._lanes[delivery.partition.place.priority].passed(delivery)

    def when_committed(self, delivery: Delivery, call: Callable[[], None]) -> None:
        """See `Lane.when_committed`."""
        self._lanes[delivery.partition.place.priority].when_committed(delivery, call)

    def overdue(self) -> list[Delivery]:
        """Runs that must not wait here any longer."""
        return [delivery for lane in self._lanes.values() for delivery in lane.overdue()]

    def held_up(self) -> list[RunsPartition]:
        """See `Lane.held_up`."""
        return [partition for lane in self._lanes.values() for partition in lane.held_up()]

    def read_on(self, free: int, *, handing_on: bool = False) -> None:
        """How much more the readers may hand over, with so many free slots."""
        for priority, mailbox in self._mailboxes.items():
            mailbox.allow(self._lanes[priority].room(free, handing_on=handing_on))

    def commit_all(self) -> None:
        """See `Lane.commit_all`."""
        for lane in self._lanes.values():
            lane.commit_all()

    def leave(self) -> None:
        """Give everything back and leave the groups; the readers end."""
        for mailbox in self._mailboxes.values():
            mailbox.stop()
