"""The course of `tocsin demo` and `tocsin dev`, from nothing to nothing."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from types import FrameType

from tocsin import clock
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.local import reachable_broker
from tocsin.client import Client, Run, TocsinError
from tocsin.timetable.instants import to_datetime
from tocsin.wire.topics import Topics
from tocsin_cli.failures import NEGATIVE, OK, CommandFailed
from tocsin_cli.stack.board import board
from tocsin_cli.stack.footer import footer
from tocsin_cli.stack.plan import PARTITIONS, REPLICATION, Plan
from tocsin_cli.stack.receiver import receiver
from tocsin_cli.stack.samples import sample_jobs
from tocsin_cli.stack.services import Services, services
from tocsin_cli.stack.verdict import verdict
from tocsin_cli.surroundings import Claim, Running
from tocsin_cli.topic_changes import WantedTopics

_REFRESH_S = 0.5
_NEWEST = 200
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Installation:
    """Everything runs. `receiver`: the URL of the local HTTP receiver."""

    plan: Plan
    brokers: str
    services: Services
    client: Client
    receiver: str


@contextmanager
def installation(plan: Plan, claim: Claim) -> Iterator[Installation]:
    """Start everything, and stop it at the end of the block; tells on stdout how far it is.

    Raises LocalBrokerError, BrokerErrors, CannotListen and CommandFailed.
    """
    given = plan.settings.brokers
    with ExitStack() as stack:
        target = stack.enter_context(receiver(plan.ports.receiver))
        _tell(
            "starting Kafka (the first time it is fetched, which may take minutes)"
            if given is None
            else f"using the Kafka at {given}, where the topics {plan.prefix}.* will stay"
        )
        broker = stack.enter_context(reachable_broker(given, plan.kafka, plan.ports.broker))
        _tell("making the topics")
        _make_topics(plan, broker.bootstrap)
        _tell("starting scheduler, worker and gateway")
        running = stack.enter_context(services(plan, broker.bootstrap))
        stack.callback(_tell, "stopping")
        running.await_readiness()
        client = stack.enter_context(Client(plan.gateway_url, tenant=plan.settings.tenant))
        claim.announce(
            Running(
                gateway_url=plan.gateway_url,
                scheduler_url=f"http://{plan.listens_at('scheduler')}",
                brokers=broker.bootstrap,
                prefix=plan.prefix,
            )
        )
        yield Installation(plan, broker.bootstrap, running, client, target)


def run_demo(plan: Plan, claim: Claim, seconds: float | None) -> int:
    """Show sample jobs until Ctrl-C, or for some seconds, and then say how it went; the exit code.

    Raises what `installation` raises, and KeyboardInterrupt.
    """
    with _ended_by_signals(), installation(plan, claim) as running:
        _register_samples(running)
        _watch(running, seconds)
        return _conclude(running)


def run_dev(plan: Plan, claim: Claim) -> None:
    """Show whatever runs until KeyboardInterrupt; raises what `installation` raises, too."""
    with _ended_by_signals(), installation(plan, claim) as running:
        _watch(running, None)


def _make_topics(plan: Plan, brokers: str) -> None:
    admin = TopicAdmin(brokers, plan.settings.kafka)
    wanted = WantedTopics(Topics(plan.prefix), PARTITIONS, REPLICATION)
    admin.apply(wanted.changes(admin, prefer_existing=True))
    if left := wanted.changes(admin, prefer_existing=True):
        raise CommandFailed("; ".join(change.message for change in left), NEGATIVE)


def _register_samples(running: Installation) -> None:
    now = to_datetime(clock.now_ms())
    for job_id, definition in sample_jobs(running.receiver, now).items():
        running.client.put(job_id, definition)


def _watch(running: Installation, seconds: float | None) -> None:
    """Show the runs until the time is up."""
    end = None if seconds is None else clock.monotonic_ms() + seconds * 1_000
    runs: list[Run] = []
    with board(footer(running.plan.gateway_url, running.receiver)) as shown:
        while end is None or clock.monotonic_ms() < end:
            running.services.check()
            try:
                runs, note = list(islice(running.client.runs(), _NEWEST)), None
            except TocsinError as error:
                note = f"the gateway: {error}"
            shown.show(runs, note)
            time.sleep(_REFRESH_S)


def _conclude(running: Installation) -> int:
    """With the scheduler stopped, what it has accounted is final."""
    until = clock.now_ms()
    running.services.stop(("scheduler", "worker"))
    found = verdict(running.brokers, running.plan.settings.kafka, running.plan.prefix, until)
    for line in found.lines:
        _tell(line)
    return OK if found.is_good else NEGATIVE


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM, and the end of the terminal, are like Ctrl-C. So is SIGINT where a shell has started
    this in the background, and let it be ignored."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(sentence: str) -> None:
    print(sentence, flush=True)
