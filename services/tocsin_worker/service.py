"""The process `tocsin worker`."""

import asyncio
import secrets
import signal
import socket

from tocsin import interpreter
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.port import Cluster
from tocsin.health import HealthServer, Version
from tocsin.metrics import Metrics
from tocsin.settings import Address, Settings
from tocsin.timetable import TZDATA_VERSION
from tocsin.wire.codec import schema_ids
from tocsin.wire.topics import Topics
from tocsin_worker import event_loop
from tocsin_worker.concurrency import ConcurrencyLimits
from tocsin_worker.handlers import catalogue
from tocsin_worker.handlers.port import Equipment
from tocsin_worker.handlers.registry import Registry
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.leases import LeaseTerms
from tocsin_worker.measures import PrometheusGauges
from tocsin_worker.node import WorkerNode
from tocsin_worker.options import WorkerOptions

LISTEN = Address("", 9102)

_ADMIN_SECONDS = 5.0


def run_worker(settings: Settings) -> int:
    """Work until SIGTERM or SIGINT; the exit code of the process.

    0: everything was finished and reported. 1: an error that no repetition helps, such as a
    missing topic. 2: the Kafka client refuses its properties. 3: the log could not be reached to
    report what was done; those runs will be executed again. Raises `InvalidSettings`,
    `PropertiesRefused` and `CannotListen`. Must be called on the main thread.
    """
    interpreter.tune()
    options = _options(settings)
    bootstrap = settings.bootstrap()
    cluster = KafkaCluster(bootstrap, settings.kafka, client_id=options.name)
    admin = TopicAdmin(bootstrap, settings.kafka, timeout=_ADMIN_SECONDS)
    equipment = Equipment(options.name, settings, Secrets(settings.secrets_dir))
    registry = catalogue.registry(equipment)
    work = _work(cluster, admin, options, registry, settings.listen or LISTEN)
    code = event_loop.run(work)
    event_loop.leave_if_held_up(code)
    return code


async def _work(
    cluster: Cluster,
    admin: TopicAdmin,
    options: WorkerOptions,
    registry: Registry,
    address: Address,
) -> int:
    def topic_problems() -> list[str]:
        return [change.message for change in admin.check(options.topics, [options.pool])]

    metrics = Metrics()
    gauges = PrometheusGauges(metrics, registry.types)
    node = WorkerNode(cluster, options, registry, gauges, topic_problems)
    metrics.runs_open.set_function(lambda: node.executing)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, node.stop)
    version = Version(TZDATA_VERSION, schema_ids())
    with HealthServer(
        address,
        metrics,
        version,
        ready=lambda: node.waiting_for,
        live=lambda: node.stuck,
    ):
        return await node.run()


def _options(settings: Settings) -> WorkerOptions:
    """A name that tells where the worker runs, and that no other process ever has."""
    where = settings.node_id or socket.gethostname()
    return WorkerOptions(
        name=f"{where}-{secrets.token_hex(4)}",
        topics=Topics(settings.prefix),
        pool=settings.pool,
        slots=settings.slots,
        limits=ConcurrencyLimits(settings.handler_slots, settings.host_slots),
        terms=LeaseTerms(lease_ms=settings.lease_ms),
        grace_ms=settings.grace_ms,
        strict_priority=settings.strict_priority,
        source=settings.worker_source,
    )
