"""Commands straight onto the log, for services that speak to Kafka anyway.

A record is what the gateway would write: key `tenant/job_id`, the partitioner of Kafka's own
clients, the definition whole in Avro. The scheduler judges it; that it was written does not say
that it was accepted.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import datetime
from threading import Event, Thread
from typing import Final, TypeVar
from uuid import uuid4

from tocsin.broker.errors import BrokerError
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.port import Cluster, Delivered, Headers
from tocsin.client.closing import Closing
from tocsin.client.definitions import to_json, to_object
from tocsin.model.job_json import parse_job
from tocsin.model.jobs import Overlap
from tocsin.model.keys import JobKey, job_key, parse_run_id, run_id
from tocsin.model.signal_json import check_signal
from tocsin.model.signals import Signal
from tocsin.model.strict_json import dumps
from tocsin.settings import load_settings
from tocsin.timetable.instants import to_ms
from tocsin.wire.codec import JOB, SIGNAL
from tocsin.wire.headers import condition_header
from tocsin.wire.topics import Topics

T = TypeVar("T")

_UNSET: Final = object()
_POLL_S: Final = 0.1


class CommandProducer(Closing):
    """Writes commands about the jobs of one tenant.

        with CommandProducer() as commands:
            commands.put("hello", schedule={"every": "10s"}, handler={"type": "noop"})
            run_id = commands.trigger("hello").result()

    What is not given is taken from the environment: `TOCSIN_BROKERS`, `TOCSIN_PREFIX`,
    `TOCSIN_TENANT`, `TOCSIN_KAFKA__…`. Nothing is durable before the future is done; it fails with
    a `BrokerError`. What is wrong in a command is raised at once (`InvalidJob`, `InvalidSignal`,
    `InvalidKey`, `NotJson`: all are ValueErrors). Leaving the block waits for all reports. Safe to
    share by threads.
    """

    def __init__(
        self,
        brokers: str | None = None,
        *,
        prefix: str | None = None,
        tenant: str | None = None,
        cluster: Cluster | None = None,
        timeout: float = 30.0,
    ) -> None:
        """`cluster`: in place of a connection, for tests. `timeout`: seconds that `close` waits."""
        settings = load_settings(os.environ)
        if cluster is None:
            cluster = KafkaCluster(
                brokers or settings.bootstrap(), settings.kafka, client_id="tocsin-commands"
            )
        self._topics = Topics(prefix or settings.prefix)
        self._tenant = tenant or settings.tenant
        self._timeout = timeout
        self._producer = cluster.producer()
        self._failure: BrokerError | None = None
        self._stop = Event()
        self._thread = Thread(target=self._serve_reports, name="tocsin-commands", daemon=True)
        self._thread.start()

    def put(
        self,
        job_id: str,
        definition: Mapping[str, object] | None = None,
        *,
        if_revision: int | None = None,
        if_absent: bool = False,
        **fields: object,
    ) -> "Future[int | None]":
        """Create the job, or replace it; the offset of the record, which is the job's revision if
        the command is accepted.

        if_revision, if_absent: only where the job is at that revision, only where it does not
        exist; else the command is void and leaves a `rejected` event.
        """
        key = job_key(self._tenant, job_id)
        job = parse_job(to_object({**(definition or {}), **fields}), key)
        headers = _condition(if_revision, if_absent=if_absent)
        return self._send(self._topics.jobs, key, JOB.encode(job), _offset, headers)

    def delete(self, job_id: str, *, if_revision: int | None = None) -> "Future[int | None]":
        """Delete the job; started runs end by themselves. The offset of the record."""
        key = job_key(self._tenant, job_id)
        return self._send(self._topics.jobs, key, None, _offset, _condition(if_revision))

    def trigger(
        self, job_id: str, *, payload: object = _UNSET, overlap: Overlap | None = None
    ) -> "Future[str | None]":
        """Run the job now, also while it is paused; the run's id."""
        signal = Signal(
            signal="trigger",
            signal_id=str(uuid4()),
            payload=None if payload is _UNSET else dumps(to_json(payload, ("payload",))),
            overlap=overlap,
        )
        key = job_key(self._tenant, job_id)
        suffix = f"-m{signal.signal_id[:8]}"

        def name(at: Delivered) -> str | None:
            return None if at.offset is None else run_id(*key, at.timestamp, suffix)

        return self._signal(key, signal, name)

    def backfill(
        self, job_id: str, start: datetime, end: datetime, *, overlap: Overlap | None = None
    ) -> "Future[str]":
        """Run every occurrence in start <= scheduled time < end, also those that ran before; the
        backfill's id."""
        signal = Signal(
            signal="backfill",
            signal_id=str(uuid4()),
            from_time=to_ms(start),
            to_time=to_ms(end),
            overlap=overlap,
        )
        return self._signal(job_key(self._tenant, job_id), signal, lambda _: signal.signal_id)

    def cancel(self, run_id: str) -> "Future[int | None]":
        """Stop a run of whatever tenant its id names. The offset of the record."""
        signal = Signal(signal="cancel", signal_id=str(uuid4()), run_id=run_id)
        return self._signal(parse_run_id(run_id).key, signal, _offset)

    def flush(self, timeout: float) -> int:
        """Wait for all reports; the number still outstanding after `timeout` seconds."""
        return self._producer.flush(timeout)

    def close(self) -> None:
        """Wait for all reports, then let go; what has none by then fails."""
        self._producer.flush(self._timeout)
        self._stop.set()
        self._thread.join()
        self._producer.close()

    def _signal(self, key: JobKey, signal: Signal, answer: Callable[[Delivered], T]) -> "Future[T]":
        check_signal(signal)
        return self._send(self._topics.signals, key, SIGNAL.encode(signal), answer, [])

    def _send(
        self,
        topic: str,
        key: JobKey,
        value: bytes | None,
        answer: Callable[[Delivered], T],
        headers: Headers,
    ) -> "Future[T]":
        if self._failure is not None:
            raise self._failure
        answered: Future[T] = Future()

        def report(sent: "Future[Delivered]") -> None:
            error = sent.exception()
            if error is not None:
                answered.set_exception(error)
            else:
                answered.set_result(answer(sent.result()))

        sent = self._producer.send(topic, str(key).encode(), value, headers=headers)
        sent.add_done_callback(report)
        return answered

    def _serve_reports(self) -> None:
        try:
            while not self._stop.is_set():
                self._producer.poll(_POLL_S)
        except BrokerError as error:
            self._failure = error


def _offset(delivered: Delivered) -> int | None:
    return delivered.offset


def _condition(if_revision: int | None, *, if_absent: bool = False) -> Headers:
    if if_revision is not None and if_absent:
        raise ValueError("give one of if_revision and if_absent")
    if if_absent:
        return [condition_header("none")]
    return [] if if_revision is None else [condition_header(if_revision)]
