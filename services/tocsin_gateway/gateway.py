"""The gateway's parts, put together; who runs them is another matter (`service.py`, tests)."""

from tocsin import __version__
from tocsin.broker.port import Cluster
from tocsin.metrics import Metrics
from tocsin.model.values import Value
from tocsin.wire.topics import Topics
from tocsin_gateway.access.guard import Guard
from tocsin_gateway.access.issuer import Issuer, IssuerOptions
from tocsin_gateway.access.rates import RateLimiter
from tocsin_gateway.access.reader import TokenReader
from tocsin_gateway.access.tokens import TokenDirectory
from tocsin_gateway.api.app import build_app
from tocsin_gateway.api.context import Context
from tocsin_gateway.api.event_stream import Streams
from tocsin_gateway.commands.audit_trail import AuditTrail
from tocsin_gateway.commands.backfill_commands import BackfillCommands
from tocsin_gateway.commands.bulk_commands import BulkCommands
from tocsin_gateway.commands.command_log import CommandLog
from tocsin_gateway.commands.job_batches import JobBatches
from tocsin_gateway.commands.job_commands import JobCommands
from tocsin_gateway.commands.requests import Requests
from tocsin_gateway.commands.run_commands import RunCommands
from tocsin_gateway.commands.signals import Signals
from tocsin_gateway.commands.token_commands import TokenCommands
from tocsin_gateway.handler_checks import HandlerChecks
from tocsin_gateway.projection.audience import LocalAudience
from tocsin_gateway.projection.audit_log import AuditReads
from tocsin_gateway.projection.backfills import BackfillReads
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.event_feed import EventFeed
from tocsin_gateway.projection.facts import read_outcome
from tocsin_gateway.projection.job_lookups import JobLookups
from tocsin_gateway.projection.job_reads import JobReads
from tocsin_gateway.projection.outcome_tail import OutcomeLog
from tocsin_gateway.projection.projector import COMPACTION_LAG_MS, Clock
from tocsin_gateway.projection.request_reads import RequestReads
from tocsin_gateway.projection.retention import Retention
from tocsin_gateway.projection.run_reads import RunReads
from tocsin_gateway.projection.statistics import StatisticsReads


class Options(Value, frozen=True):
    """How the gateway behaves.

    durable_timeout, fold_timeout, run_timeout: seconds that a request waits for Kafka's
    acknowledgement, then for the gateway's own fold (a transaction of the scheduler may hold it
    up for ten), then for the row of a run it asked for. compaction_lag_ms: `min.compaction.lag.ms`
    of the jobs topic. token: whoever has it may do everything. issuer: of further tokens.
    on_loopback: only this machine can reach the gateway. rate_limit: requests a second of one
    caller. cors_origins: pages of these may ask with a browser's help. handler_checks: of
    handlers that are not Tocsin's own.
    """

    durable_timeout: float = 5.0
    fold_timeout: float = 15.0
    run_timeout: float = 5.0
    compaction_lag_ms: int = COMPACTION_LAG_MS
    retention: Retention = Retention()
    token: str | None = None
    issuer: IssuerOptions | None = None
    on_loopback: bool = True
    rate_limit: int = 1_000
    cors_origins: tuple[str, ...] = ()
    handler_checks: HandlerChecks = HandlerChecks({})


class Gateway:
    """`token_reader` has to be run on a thread, `producer` polled on one, `app` served; a projector
    has to keep the database up with the log, and tell `audience`."""

    def __init__(
        self,
        cluster: Cluster,
        database: Database,
        topics: Topics,
        metrics: Metrics,
        clock: Clock,
        options: Options,
    ) -> None:
        self.audience = LocalAudience(topics.outcomes, metrics)
        self.progress = self.audience.progress
        self.streams = Streams()
        self.producer = cluster.producer()
        self.tokens = TokenDirectory()
        self.token_reader = TokenReader(
            cluster, topics, self.tokens, lambda topic: metrics.records_refused.labels(topic).inc()
        )
        jobs, runs = JobReads(database), RunReads(database)
        lookups = JobLookups(jobs)
        commands = CommandLog(
            self.producer,
            topics,
            self.progress,
            jobs,
            lookups,
            durable_timeout=options.durable_timeout,
            fold_timeout=options.fold_timeout,
        )
        trail = AuditTrail(commands, clock)
        backfills = BackfillReads(database)
        requests = Requests(RequestReads(database), clock)
        signals = Signals(commands, requests)
        job_commands = JobCommands(
            commands, lookups, requests, clock, compaction_lag_ms=options.compaction_lag_ms
        )
        run_commands = RunCommands(
            signals, self.progress, lookups, runs, run_timeout=options.run_timeout
        )
        context = Context(
            topics=topics,
            jobs=jobs,
            lookups=lookups,
            runs=runs,
            backfills=backfills,
            job_commands=job_commands,
            run_commands=run_commands,
            backfill_commands=BackfillCommands(signals, lookups, backfills),
            bulk_commands=BulkCommands(
                jobs,
                runs,
                JobBatches(commands, jobs, job_commands, trail),
                run_commands,
                trail,
                clock,
            ),
            statistics=StatisticsReads(database),
            events=EventFeed(
                database,
                self.progress,
                topics.events,
                self.audience.tail,
                OutcomeLog(cluster, topics.outcomes, read_outcome),
            ),
            streams=self.streams,
            progress=self.progress,
            clock=clock,
            guard=Guard(
                self.tokens,
                clock,
                static=options.token,
                issuer=None if options.issuer is None else Issuer(options.issuer, clock),
                on_loopback=options.on_loopback,
            ),
            limiter=RateLimiter(clock, options.rate_limit),
            token_commands=TokenCommands(commands, self.tokens, clock),
            audit_trail=trail,
            audit_log=AuditReads(database),
            handler_checks=options.handler_checks,
            cors_origins=frozenset(options.cors_origins),
        )
        self.app = build_app(context, metrics, __version__, options.cors_origins)
