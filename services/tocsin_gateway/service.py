"""The gateway as a process: threads, signals, exit code.

main thread   HTTP (uvicorn), until SIGTERM or SIGINT
tokens        reads the API tokens
deliveries    serves the producer's delivery reports
projector     hears the process that keeps the read model up with the log
"""

import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread
from types import FrameType

import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from tocsin import clock, interpreter
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.errors import BrokerError, PropertiesRefused
from tocsin.broker.kafka import KafkaCluster
from tocsin.metrics import Metrics
from tocsin.plugins import UnusablePlugin
from tocsin.settings import Address, InvalidSettings, Settings
from tocsin.wire.topics import Topics
from tocsin_gateway.access.issuer import IssuerOptions
from tocsin_gateway.api.context import is_loopback
from tocsin_gateway.api.event_stream import Streams
from tocsin_gateway.exit_codes import FAILED, INVALID, exit_code
from tocsin_gateway.gateway import Gateway, Options
from tocsin_gateway.handler_checks import HandlerChecks, installed_checks
from tocsin_gateway.projection.audience import LocalAudience
from tocsin_gateway.projection.database import (
    Database,
    open_database,
    rebuilding,
    sqlite_url,
)
from tocsin_gateway.projection.engines import DatabaseUnusable
from tocsin_gateway.projection.progress import Progress
from tocsin_gateway.projection.projector import Projector
from tocsin_gateway.projection.retention import Retention
from tocsin_gateway.projector_process.host import ProjectorEnded, ProjectorHost
from tocsin_gateway.projector_process.messages import Start
from tocsin_gateway.waiting import Stopped, await_tokens, await_topics

log = logging.getLogger(__name__)

DEFAULT_ADDRESS = Address("127.0.0.1", 8080)

_GRACE_S = 10
_REQUEST_S = 10.0

Tell = Callable[[int], None]


class CannotStart(Exception):
    """Why the gateway does not start: a sentence for the operator, and the exit code."""

    def __init__(self, sentence: str, exit_code: int = INVALID) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def run_gateway(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT; the exit code: 0, 1 = failed, 2 = wrong settings,
    3 = Kafka cannot be reached.

    Blocks. Where Kafka is not reachable the gateway waits for it and says so in its readiness, or
    in its log alone where it has yet to learn whether there is any token. A topic that is missing,
    or is not what this release needs, ends it.
    """
    try:
        return _serve(settings)
    except CannotStart as error:
        log.error("%s", error, extra={"action": "gateway_refused"})
        return error.exit_code
    except PropertiesRefused as error:
        log.error("%s", error, extra={"action": "gateway_refused"})
        return INVALID
    except Stopped:
        return 0


def rebuild_read_model(settings: Settings, tell: Tell) -> int:
    """Build the read model anew from the log beside the one in use, and switch to it; the exit
    code: 0, 1 = failed, 2 = wrong settings, 3 = Kafka cannot be reached.

    `tell` hears again and again how many records are left. Gateways on the same database serve the
    old one until then, and take up the new one within seconds. Interrupted, it changes nothing.
    """
    try:
        cluster = _cluster(settings)
        _require_topics(settings)
        with _usable(), rebuilding(_database_url(settings), clock.now_ms()) as database:
            topics = Topics(settings.prefix)
            audience = LocalAudience(topics.outcomes, Metrics())
            projector = Projector(
                cluster,
                database,
                topics,
                audience,
                clock=clock,
                retention=_retention(settings),
            )
            _project(projector, audience.progress, tell)
    except CannotStart as error:
        log.error("%s", error, extra={"action": "gateway_refused"})
        return error.exit_code
    except BrokerError as error:
        log.error("not rebuilt: %s", error, extra={"action": "rebuild_failed"})
        return exit_code(error)
    return 0


def _project(projector: Projector, progress: Progress, tell: Tell) -> None:
    """Read until the history is complete. Raises `BrokerError`s and SQLAlchemy's errors."""
    try:
        projector.open()
        while not progress.history_complete:
            projector.step(0.1)
            tell(projector.backlog())
    finally:
        projector.close()


def _serve(settings: Settings) -> int:
    address = settings.listen or DEFAULT_ADDRESS
    cluster, database = _cluster(settings), _database(settings)
    gateway = _gateway(settings, cluster, database)
    stop = Event()
    with _signals(stop.set):
        check_access(
            settings, address, lambda: await_tokens(gateway.token_reader, gateway.tokens, stop)
        )
    if stop.is_set():
        raise Stopped
    with _listening(address) as listener:
        server = _Server(
            uvicorn.Config(
                gateway.app,
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                lifespan="off",
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        with _working(settings, gateway, database, server) as failures:
            host, port = listener.getsockname()[:2]
            log.info(
                "the gateway answers at http://%s:%d",
                host,
                port,
                extra={"action": "gateway_listening"},
            )
            interpreter.tune()
            with _signals(partial(_end, server, gateway.streams)):
                server.run(sockets=[listener])
    gateway.streams.close()
    database.close()
    return _code_of(failures[0]) if failures else 0


def _code_of(failure: BaseException) -> int:
    return failure.exit_code if isinstance(failure, ProjectorEnded) else exit_code(failure)


class _Server(uvicorn.Server):
    """Leaves the signals to `_signals`: uvicorn would raise them again after the shutdown."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    def heard(_number: int, _frame: FrameType | None) -> None:
        stop()

    before = {number: signal.signal(number, heard) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(server: uvicorn.Server, streams: Streams) -> None:
    streams.closing = True
    server.should_exit = True


@contextmanager
def _working(
    settings: Settings, gateway: Gateway, database: Database, server: uvicorn.Server
) -> Iterator[list[BaseException]]:
    """The threads beside the server. What ends one of them ends the server, and is in the list."""
    stop, failures = Event(), list[BaseException]()

    def guard(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)
            if not isinstance(error, ProjectorEnded):
                log.critical("%s", error, exc_info=not isinstance(error, BrokerError))
            server.should_exit = True

    def serve_deliveries() -> None:
        while not stop.is_set():
            gateway.producer.poll(0.1)

    host = ProjectorHost(_start(settings), gateway.audience, database)

    def project() -> None:
        await_topics(partial(_require_topics, settings), gateway.progress, stop)
        if not stop.is_set():
            host.run()

    threads = [
        Thread(target=guard, args=(project,), name="projector"),
        Thread(target=guard, args=(lambda: gateway.token_reader.run(stop),), name="tokens"),
        Thread(target=guard, args=(serve_deliveries,), name="deliveries"),
    ]
    for thread in threads:
        thread.start()
    try:
        yield failures
    finally:
        gateway.producer.flush(_GRACE_S / 2)
        stop.set()
        host.stop()
        for thread in threads:
            thread.join()
        gateway.producer.close()


def _start(settings: Settings) -> Start:
    return Start(
        bootstrap=settings.bootstrap(),
        kafka=dict(settings.kafka),
        prefix=settings.prefix,
        database_url=_database_url(settings),
        history_age_ms=settings.history_age_ms,
        history_runs=settings.history_runs,
    )


@contextmanager
def _listening(address: Address) -> Iterator[socket.socket]:
    """A socket that listens, so that the address is known, or refused, before anything starts."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listener = socket.create_server((address.host, address.port), family=family, backlog=2048)
    except OSError as error:
        raise CannotStart(
            f"cannot listen on {address.host}:{address.port} ({error.strerror or error}): "
            "set TOCSIN_LISTEN to another HOST:PORT",
            FAILED,
        ) from None
    with listener:
        yield listener


def check_access(settings: Settings, address: Address, has_tokens: Callable[[], bool]) -> None:
    """Raises `CannotStart` where anybody could reach a gateway that asks nobody for a token.
    `has_tokens` is asked where the settings name none."""
    has_means = settings.api_token is not None or settings.oidc_issuer is not None
    if is_loopback(address.host):
        if not has_means:
            log.info(
                "without tokens the gateway answers this machine only; `tocsin token create` makes "
                "the first one",
                extra={"action": "gateway_open"},
            )
        return
    if not has_means and not has_tokens():
        raise CannotStart(
            f"without a token the gateway listens on loopback only, not on "
            f"{address.host or 'all addresses'}:{address.port}: set TOCSIN_API_TOKEN or "
            "TOCSIN_OIDC_ISSUER, make a token with `tocsin token create`, or set "
            "TOCSIN_LISTEN=127.0.0.1:8080"
        )


def _require_topics(settings: Settings) -> None:
    """Raises `BrokerError`s: `Die` for topics that are not what this release needs."""
    admin = TopicAdmin(settings.bootstrap(), settings.kafka, timeout=_REQUEST_S)
    admin.require(Topics(settings.prefix))


def _cluster(settings: Settings) -> KafkaCluster:
    try:
        return KafkaCluster(settings.bootstrap(), settings.kafka, client_id="tocsin-gateway")
    except InvalidSettings as error:
        raise CannotStart(str(error)) from None


def _database(settings: Settings) -> Database:
    with _usable():
        return open_database(_database_url(settings), clock.now_ms())


def _database_url(settings: Settings) -> str:
    url = settings.database_url
    if url is None:
        return sqlite_url(Path(settings.state_dir) / "gateway.sqlite")
    return url.get_secret_value()


@contextmanager
def _usable() -> Iterator[None]:
    """Raises `CannotStart` where the database cannot be used."""
    try:
        yield
    except DatabaseUnusable as error:
        raise CannotStart(f"TOCSIN_DATABASE_URL: {error}") from None
    except (SQLAlchemyError, OSError) as error:
        cause = error.__cause__ or error
        raise CannotStart(f"the database of the read model: {cause}", FAILED) from None


def _gateway(settings: Settings, cluster: KafkaCluster, database: Database) -> Gateway:
    token = settings.api_token
    options = Options(
        token=None if token is None else token.get_secret_value(),
        issuer=_issuer(settings),
        on_loopback=is_loopback((settings.listen or DEFAULT_ADDRESS).host),
        rate_limit=settings.rate_limit,
        cors_origins=settings.cors_origins,
        handler_checks=_handler_checks(),
        retention=_retention(settings),
    )
    return Gateway(cluster, database, Topics(settings.prefix), Metrics(), clock, options)


def _retention(settings: Settings) -> Retention:
    return Retention(age_ms=settings.history_age_ms, runs_a_job=settings.history_runs)


def _handler_checks() -> HandlerChecks:
    try:
        return installed_checks()
    except UnusablePlugin as error:
        raise CannotStart(str(error)) from error


def _issuer(settings: Settings) -> IssuerOptions | None:
    if settings.oidc_issuer is None:
        return None
    return IssuerOptions(
        url=settings.oidc_issuer,
        audience=settings.oidc_audience,
        role_claim=settings.oidc_role_claim,
        tenant_claim=settings.oidc_tenant_claim,
    )
