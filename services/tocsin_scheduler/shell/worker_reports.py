"""Reading what workers say of themselves."""

import logging
from collections.abc import Iterator
from typing import NamedTuple

from tocsin.broker.errors import BrokerError
from tocsin.broker.port import Cluster, LogReader, Record, TopicPartition
from tocsin.model.runs import Worker
from tocsin.wire.codec import WORKER, WireError
from tocsin_scheduler.shell.report import Refused

LOG = logging.getLogger(__name__)

REQUEST_S = 2.0
AGAIN_MS = 10_000
_BATCH = 1_000


class Reported(NamedTuple):
    """A worker's report, appended at that instant; None = it has said that it is no more."""

    worker: str
    report: Worker | None
    at: int


class WorkerReports:
    """Follows the topic of reports. Where it cannot be read, that is logged and tried again: runs
    are spread without knowing the workers until then."""

    def __init__(self, cluster: Cluster, topic: str, refused: Refused) -> None:
        """`refused` is told of each record that cannot be read."""
        self._cluster = cluster
        self._topic = topic
        self._refused = refused
        self._reader: LogReader | None = None
        self._not_before = 0

    def read(self, now: int, fresh_ms: int) -> list[Reported]:
        """What has come since the last call; at first, what is not older than `fresh_ms`.

        Does not wait for records. The first call asks the brokers and may take a moment.
        """
        if self._reader is None and now < self._not_before:
            return []
        try:
            self._reader = self._reader or self._begin(now - fresh_ms)
            return list(_decoded(self._reader.poll_batch(_BATCH, 0), self._refused))
        except BrokerError as error:
            LOG.warning(
                "runs are spread evenly, whatever the workers report: %s",
                error,
                extra={"action": "worker_reports_unread"},
            )
            self.close()
            self._not_before = now + AGAIN_MS
            return []

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _begin(self, since: int) -> LogReader:
        found = self._cluster.topics([self._topic], REQUEST_S)
        count = found[self._topic].partitions if self._topic in found else 0
        reader = self._cluster.log_reader(is_patient=True)
        try:
            places = {TopicPartition(self._topic, number): since for number in range(count)}
            reader.assign(reader.offsets_since(places, REQUEST_S))
        except BrokerError:
            reader.close()
            raise
        return reader


def _decoded(records: list[Record], refused: Refused) -> Iterator[Reported]:
    for record in records:
        worker = (record.key or b"").decode(errors="replace")
        try:
            report = None if record.value is None else WORKER.decode(record.value)
        except WireError as error:
            refused(record, error)
        else:
            yield Reported(worker if report is None else report.worker, report, record.timestamp)
