"""The tables of the read model. All instants are epoch milliseconds.

Everything here can be built again from the log: see `tocsin gateway rebuild`.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    literal_column,
)
from sqlalchemy.dialects import postgresql

SCHEMA_VERSION = "7"
"""Raised with every change of a table: each version has a read model of its own."""

metadata = MetaData()

ORDINARY_STATUS = "succeeded"
RARE_STATUS: ColumnElement[bool] = literal_column("status <> 'succeeded'")
"""How nearly every run ends is not indexed; a query for other statuses says so too."""

FIXED = {"fixed": True}
"""Marks a column that never changes: an update leaves it, and the indexes over it, alone."""

BEGUN: ColumnElement[bool] = literal_column("begun_id IS NOT NULL")

OF_BACKFILL: ColumnElement[bool] = literal_column(
    "type IN ('backfill_started', 'backfill_progress', 'backfill_finished')"
)
"""Events that tell of a backfill, among the many of a job."""

DELETED: ColumnElement[bool] = literal_column("definition IS NULL")
EXISTING: ColumnElement[bool] = literal_column("definition IS NOT NULL")
"""A list of jobs says so in these words, which is what leads it past the tombstones."""

ByteText = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
"""Text that is ordered by its bytes everywhere. Job ids are such text in all tables: PostgreSQL
looks one up by an index only where both sides are ordered the same way."""

meta = Table(
    "meta",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
)

offsets = Table(
    "offsets",
    metadata,
    Column("topic", Text, nullable=False),
    Column("partition", Integer, nullable=False),
    Column("next_offset", BigInteger, nullable=False),
    Column("read_time", BigInteger, nullable=False),
    PrimaryKeyConstraint("topic", "partition"),
    sqlite_with_rowid=False,
)

jobs = Table(
    "jobs",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("job_id", ByteText, nullable=False),
    Column("partition", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("updated_time", BigInteger, nullable=False),
    Column("created_revision", BigInteger, nullable=False),
    Column("created_time", BigInteger, nullable=False),
    Column("definition", LargeBinary, comment="whole, in Avro; null = deleted"),
    Column("status", Text),
    Column("owner", Text),
    Column("pool", Text),
    Column("search", Text, comment="words of id, owner and description, each behind a space"),
    PrimaryKeyConstraint("tenant", "job_id"),
    Index(
        "jobs_existing",
        "tenant",
        "job_id",
        sqlite_where=EXISTING,
        postgresql_where=EXISTING,
    ),
    Index(
        "jobs_by_creation",
        "tenant",
        "created_time",
        "job_id",
        sqlite_where=EXISTING,
        postgresql_where=EXISTING,
    ),
    Index("jobs_by_pool", "pool", "tenant"),
    Index("jobs_by_status", "tenant", "status"),
    Index("jobs_by_owner", "tenant", "owner"),
    Index("jobs_deleted", "updated_time", sqlite_where=DELETED, postgresql_where=DELETED),
    sqlite_with_rowid=False,
)

job_tags = Table(
    "job_tags",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("job_id", ByteText, nullable=False),
    Column("name", Text, nullable=False),
    Column("value", Text, nullable=False),
    PrimaryKeyConstraint("tenant", "job_id", "name"),
    Index("job_tags_by_name", "tenant", "name", "value", "job_id"),
    sqlite_with_rowid=False,
)

job_words = Table(
    "job_words",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("word", ByteText, nullable=False),
    Column("job_id", ByteText, nullable=False),
    PrimaryKeyConstraint("tenant", "word", "job_id"),
    sqlite_with_rowid=False,
)

job_handlers = Table(
    "job_handlers",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("handler", Text, nullable=False),
    Column("job_id", ByteText, nullable=False, comment="a job of which runs have this handler"),
    Column("noted_time", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant", "handler", "job_id"),
    Index("job_handlers_by_time", "noted_time"),
    sqlite_with_rowid=False,
)

job_counts = Table(
    "job_counts",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant", "phase"),
    sqlite_with_rowid=False,
)

grown_jobs = Table(
    "grown_jobs",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("job_id", ByteText, nullable=False, comment="may have more runs than are kept"),
    PrimaryKeyConstraint("tenant", "job_id"),
    sqlite_with_rowid=False,
)

completions = Table(
    "completions",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("job_id", ByteText, nullable=False),
    Column("revision", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant", "job_id"),
    sqlite_with_rowid=False,
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("partition", Integer, nullable=False),
    Column("record_offset", BigInteger, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("revision", BigInteger, comment="what is accepted after the record; null = nothing"),
    Column("reason", Text, nullable=False),
    Column("judged_time", BigInteger, nullable=False),
    PrimaryKeyConstraint("partition", "record_offset"),
    Index("verdicts_by_time", "judged_time"),
    sqlite_with_rowid=False,
)

requests = Table(
    "requests",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("idempotency_key", Text, nullable=False),
    Column("job_id", ByteText, nullable=False),
    Column("partition", Integer, nullable=False),
    Column("record_offset", BigInteger, nullable=False),
    Column("record_time", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("revision", BigInteger, comment="what was held after the command; null = a signal"),
    Column("updated_time", BigInteger),
    Column("created_revision", BigInteger),
    Column("created_time", BigInteger),
    Column("definition", LargeBinary, comment="whole, in Avro; null = deleted, or a signal"),
    PrimaryKeyConstraint("tenant", "idempotency_key", "job_id"),
    Index("requests_by_time", "record_time"),
    sqlite_with_rowid=False,
)

backfills = Table(
    "backfills",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("backfill_id", Text, nullable=False),
    Column("job_id", ByteText, nullable=False),
    Column("requested_time", BigInteger, nullable=False),
    Column("from_time", BigInteger, nullable=False),
    Column("to_time", BigInteger, nullable=False),
    Column("slots", Integer, comment="how many the sender has counted"),
    Column("overlap", Text),
    PrimaryKeyConstraint("tenant", "backfill_id"),
    Index("backfills_of_job", "tenant", "job_id", "requested_time"),
    Index("backfills_by_time", "requested_time"),
    sqlite_with_rowid=False,
)

audit = Table(
    "audit",
    metadata,
    Column("partition", Integer, nullable=False),
    Column("record_offset", BigInteger, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("before_revision", BigInteger),
    Column("after_revision", BigInteger),
    Column("request_id", Text, nullable=False),
    Column("begun_id", Text, comment="of a deed whose end is not known; null = it was done"),
    PrimaryKeyConstraint("partition", "record_offset"),
    Index("audit_begun", "begun_id", sqlite_where=BEGUN, postgresql_where=BEGUN),
    Index("audit_of_tenant", "tenant", "time", "partition", "record_offset"),
    Index("audit_of_object", "tenant", "object", "time", "partition", "record_offset"),
    Index("audit_by_time", "time"),
    sqlite_with_rowid=False,
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", ByteText, primary_key=True, comment="orders the runs of a job by time"),
    Column("tenant", Text, nullable=False, info=FIXED),
    Column("job_id", ByteText, nullable=False, info=FIXED),
    Column("scheduled_time", BigInteger, nullable=False, info=FIXED),
    Column("described", Integer, nullable=False, comment="attempt that the next columns tell of"),
    Column("cause", Text),
    Column("revision", BigInteger),
    Column("priority", Text),
    Column("pool", Text),
    Column("handler", Text),
    Column("max_attempts", Integer),
    Column("due_time", BigInteger),
    Column("emitted_time", BigInteger, comment="first emission"),
    Column("first_started_time", BigInteger),
    Column("attempt", Integer, nullable=False, comment="attempt that the next columns tell of"),
    Column("status", Text, nullable=False),
    Column("worker", Text),
    Column("started_time", BigInteger),
    Column("finished_time", BigInteger),
    Column("retry_time", BigInteger),
    Column("error_code", Text),
    Column("error_message", Text),
    Column("result", LargeBinary),
    Column("reason", Text),
    Column("count", BigInteger, nullable=False, comment="occurrences that the row stands for"),
    Column("first_time", BigInteger, comment="of the first of several"),
    Index("runs_of_job", "job_id", "run_id"),
    Index("runs_by_time", "tenant", "scheduled_time", "run_id"),
    Index(
        "runs_by_rare_status",
        "tenant",
        "status",
        "scheduled_time",
        "run_id",
        sqlite_where=RARE_STATUS,
        postgresql_where=RARE_STATUS,
    ),
    sqlite_with_rowid=False,
)

tallies = Table(
    "tallies",
    metadata,
    Column("scope", Text, nullable=False, comment="see tally_rows"),
    Column("begin_time", BigInteger, nullable=False),
    Column("tally", Text, nullable=False, comment="numbers by names, in JSON"),
    PrimaryKeyConstraint("scope", "begin_time"),
    Index("tallies_by_time", "begin_time"),
    sqlite_with_rowid=False,
)

attempts = Table(
    "attempts",
    metadata,
    Column("run_id", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("emitted_time", BigInteger),
    Column("heard", Text, comment="kind of the outcome that counts"),
    Column("worker", Text),
    Column("started_time", BigInteger),
    Column("finished_time", BigInteger),
    Column("result", LargeBinary),
    Column("error_code", Text),
    Column("error_message", Text),
    Column("error_permanent", Boolean),
    Column("decision", Text, comment="type of the event that counts"),
    Column("decided_time", BigInteger),
    Column("reason", Text),
    Column("retry_time", BigInteger),
    PrimaryKeyConstraint("run_id", "attempt"),
    sqlite_with_rowid=False,
)

events = Table(
    "events",
    metadata,
    Column("partition", Integer, nullable=False),
    Column("record_offset", BigInteger, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("job_id", ByteText, nullable=False),
    Column("run_id", Text),
    Column("type", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("scheduled_time", BigInteger),
    Column("attempt", Integer),
    Column("revision", BigInteger),
    Column("count", BigInteger, nullable=False),
    Column("first", BigInteger),
    Column("last", BigInteger),
    Column("schedule", Text),
    Column("status", Text),
    Column("jitter_ms", BigInteger),
    Column("anchor", BigInteger),
    Column("retry_time", BigInteger),
    Column("max_runs", Integer),
    Column("cause", Text),
    PrimaryKeyConstraint("partition", "record_offset"),
    Index("events_of_job", "tenant", "job_id", "time"),
    Index(
        "events_of_backfills",
        "tenant",
        "job_id",
        "type",
        "time",
        sqlite_where=OF_BACKFILL,
        postgresql_where=OF_BACKFILL,
    ),
    Index("events_of_run", "run_id"),
    Index("events_by_time", "time"),
    sqlite_with_rowid=False,
)

dead_letters = Table(
    "dead_letters",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("record", LargeBinary, nullable=False, comment="the dead record whole, in Avro"),
    sqlite_with_rowid=False,
)
