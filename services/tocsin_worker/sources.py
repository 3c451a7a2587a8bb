"""Where a worker's runs come from: a consumer group or a share group for each priority."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from tocsin.broker.errors import BrokerError
from tocsin.broker.port import Cluster
from tocsin.model.jobs import PRIORITIES, Priority
from tocsin_worker.feed import Feed, ShareFeed
from tocsin_worker.intake.intake import RunsLane
from tocsin_worker.intake.lane import Lane
from tocsin_worker.intake.mailbox import Mailbox
from tocsin_worker.intake.membership import Membership
from tocsin_worker.intake.reader import RunsReader
from tocsin_worker.intake.share_lane import ShareLane
from tocsin_worker.intake.share_reader import ShareMailbox, ShareReader
from tocsin_worker.options import WorkerOptions
from tocsin_worker.timers import Timers
from tocsin_worker.worker import RunWorker

Undecodable = Callable[[str], None]


Joined = Callable[[Priority], None]


class RunsSource(Protocol):
    """By priority: the lanes, the mailboxes of their readers, and the groups these are in."""

    @property
    def lanes(self) -> Mapping[Priority, RunsLane]: ...
    @property
    def mailboxes(self) -> Mapping[Priority, Mailbox]: ...
    def group(self, priority: Priority) -> str: ...
    def readers(
        self, worker: RunWorker, joined: Joined, failed: Callable[[BrokerError], None]
    ) -> list[Membership]:
        """One for each priority, not started. `joined` is told of each that takes part."""


class GroupSource:
    """Consumer groups: each partition is one worker's at a time."""

    def __init__(self, cluster: Cluster, options: WorkerOptions, undecodable: Undecodable) -> None:
        self._cluster = cluster
        self._options = options
        self.mailboxes = {priority: Mailbox() for priority in PRIORITIES}
        self.lanes = {
            priority: Lane(priority, mailbox, undecodable)
            for priority, mailbox in self.mailboxes.items()
        }

    def group(self, priority: Priority) -> str:
        return self._options.topics.worker_group(self._options.pool, priority)

    def readers(
        self, worker: RunWorker, joined: Joined, failed: Callable[[BrokerError], None]
    ) -> list[Membership]:
        loop = asyncio.get_running_loop()
        found: list[Membership] = []
        for priority, lane in self.lanes.items():
            topic = self._options.topics.runs(priority, self._options.pool)
            mailbox = self.mailboxes[priority]
            feed = Feed(lane, mailbox, worker, _told(joined, priority), failed)
            group = self.group(priority)
            found.append(RunsReader(self._cluster, topic, group, mailbox, feed, loop))
        return found


class ShareSource:
    """Share groups: each run is one worker's, whatever its partition."""

    def __init__(
        self,
        cluster: Cluster,
        options: WorkerOptions,
        undecodable: Undecodable,
        timers: Timers,
    ) -> None:
        self._cluster = cluster
        self._options = options
        self.mailboxes = {priority: ShareMailbox() for priority in PRIORITIES}
        self.lanes = {
            priority: ShareLane(priority, mailbox, undecodable, timers.monotonic_ms)
            for priority, mailbox in self.mailboxes.items()
        }

    def group(self, priority: Priority) -> str:
        return self._options.topics.share_group(self._options.pool, priority)

    def readers(
        self, worker: RunWorker, joined: Joined, failed: Callable[[BrokerError], None]
    ) -> list[Membership]:
        loop = asyncio.get_running_loop()
        found: list[Membership] = []
        for priority, lane in self.lanes.items():
            topic = self._options.topics.runs(priority, self._options.pool)
            mailbox, slots = self.mailboxes[priority], self._options.slots
            feed = ShareFeed(lane, mailbox, worker, _told(joined, priority), failed)
            group = self.group(priority)
            found.append(ShareReader(self._cluster, topic, group, slots, mailbox, feed, loop))
        return found


def runs_source(
    cluster: Cluster, options: WorkerOptions, undecodable: Undecodable, timers: Timers
) -> RunsSource:
    """The one that the options name."""
    if options.source == "share":
        return ShareSource(cluster, options, undecodable, timers)
    return GroupSource(cluster, options, undecodable)


def _told(joined: Joined, priority: Priority) -> Callable[[], None]:
    return lambda: joined(priority)
