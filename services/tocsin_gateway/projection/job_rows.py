"""The fold of the jobs topic over the rows of `jobs`."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, RowMapping, delete, select

from tocsin.model.fold import Held, Judgement, judge
from tocsin.model.jobs import Job
from tocsin.model.keys import JobKey
from tocsin.wire.codec import JOB
from tocsin_gateway.projection.database import Database, listing
from tocsin_gateway.projection.facts import JobFact
from tocsin_gateway.projection.job_words import search_text, store_words, words_of_job
from tocsin_gateway.projection.tables import job_tags, job_words, jobs, verdicts


def fold_jobs(
    database: Database,
    connection: Connection,
    facts: Sequence[JobFact],
    *,
    compaction_lag_ms: int,
    trusting: bool = False,
) -> list[Judgement]:
    """Judge the records in their order and store what is held after them; no verdict is kept."""
    held = load_held(database, connection, {fact.key for fact in facts})
    before = {key: known.job for key, known in held.items()}
    changed: dict[JobKey, tuple[int, Held]] = {}
    judgements = []
    for fact in facts:
        judgement = judge(
            held.get(fact.key),
            fact.record,
            compaction_lag_ms=compaction_lag_ms,
            trusting=trusting,
        )
        judgements.append(judgement)
        if judgement.verdict in ("accepted", "restated") and judgement.held is not None:
            held[fact.key] = judgement.held
            changed[fact.key] = (fact.partition, judgement.held)
    _store(database, connection, changed, before)
    return judgements


def store_verdicts(
    database: Database,
    connection: Connection,
    facts: Sequence[JobFact],
    judgements: Sequence[Judgement],
    now: int,
) -> None:
    """Keep for a while what became of each command: who wrote it may be waiting to know."""
    rows = [
        (
            fact.partition,
            fact.record.offset,
            judgement.verdict,
            judgement.held.revision if judgement.held else None,
            judgement.reason,
            now,
        )
        for fact, judgement in zip(facts, judgements, strict=True)
        if fact.record.restates is None
    ]
    database.upsert(connection, verdicts, rows)


def load_held(
    database: Database, connection: Connection, keys: Iterable[JobKey]
) -> dict[JobKey, Held]:
    """What is held of these jobs, tombstones too."""
    rows = database.rows_listed(connection, jobs.c.tenant, jobs.c.job_id, keys)
    return {JobKey(row["tenant"], row["job_id"]): held_of(row) for row in rows}


def held_of(row: RowMapping) -> Held:
    """What the fold holds, of a row of `jobs`."""
    definition = row["definition"]
    return Held(
        revision=row["revision"],
        timestamp=row["updated_time"],
        job=None if definition is None else JOB.decode(definition),
        created_revision=row["created_revision"],
        created_time=row["created_time"],
    )


def forget_partition(connection: Connection, partition: int) -> None:
    """Remove the jobs of a partition, before its fold begins anew."""
    for table in (job_tags, job_words):
        of_partition = select(jobs.c.job_id).where(
            jobs.c.partition == partition,
            jobs.c.tenant == table.c.tenant,
            jobs.c.job_id == table.c.job_id,
        )
        connection.execute(delete(table).where(of_partition.exists()))
    connection.execute(delete(jobs).where(jobs.c.partition == partition))


def _store(
    database: Database,
    connection: Connection,
    changed: dict[JobKey, tuple[int, Held]],
    before: Mapping[JobKey, Job | None],
) -> None:
    """before: the jobs that there were."""
    words = {key: words_of_job(held.job) for key, (_, held) in changed.items()}
    rows = [
        _row(key, partition, held, search_text(words[key]))
        for key, (partition, held) in changed.items()
    ]
    database.upsert(connection, jobs, rows)
    tagged = {key for key in changed if (job := before.get(key)) is not None and job.tags}
    if tagged:
        are_meant = database.are_listed(job_tags.c.tenant, job_tags.c.job_id)
        connection.execute(delete(job_tags).where(are_meant), listing(tagged))
    tags = [
        (key.tenant, key.job_id, name, value)
        for key, (_, held) in changed.items()
        if held.job is not None
        for name, value in held.job.tags.items()
    ]
    database.upsert(connection, job_tags, tags)
    store_words(database, connection, before, words)


def _row(key: JobKey, partition: int, held: Held, search: str) -> tuple[object, ...]:
    job = held.job
    stored = (partition, held.revision, held.timestamp, held.created_revision, held.created_time)
    if job is None:
        return (*key, *stored, None, None, None, None, None)
    return (*key, *stored, JOB.encode(job), job.status, job.owner, job.pool, search)
