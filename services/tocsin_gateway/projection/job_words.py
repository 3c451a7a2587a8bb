"""The words of jobs, by which they are found: those of id, owner and description.

A word is what stands between spaces and ASCII punctuation, without case; of a long one its first
64 characters. A text means the jobs that have, for each of its words, one that begins with it. So
an index can answer, in either database, however many jobs there are.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping

from sqlalchemy import ColumnElement, Connection, delete, false, select

from tocsin.model.jobs import Job
from tocsin.model.keys import JobKey
from tocsin_gateway.projection.database import Database, listing
from tocsin_gateway.projection.narrowing import JobIds
from tocsin_gateway.projection.tables import job_words, jobs

_WORD = re.compile(r"[^\s!-/:-@\[-`{-~]+")
_LONGEST = 64
_MOST_LOOKED_UP = 3
_LAST_CHARACTER = "\U0010ffff"


def words_of(text: str) -> list[str]:
    """The words of a text in their order, each once."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return list(dict.fromkeys(word[:_LONGEST] for word in _WORD.findall(folded)))


def words_of_job(job: Job | None) -> list[str]:
    """The words by which a job is found; none where there is no job."""
    if job is None:
        return []
    return words_of(" ".join(filter(None, (job.job_id, job.owner, job.description))))


def search_text(words: Iterable[str]) -> str:
    """All of them, each behind a space."""
    return "".join(f" {word}" for word in words)


def matches(text: str) -> list[ColumnElement[bool]]:
    """The rows of `jobs` that a text means: none where it has no word, all where it is blank."""
    words = words_of(text)
    if not words and text.strip():
        return [false()]
    return [jobs.c.search.contains(f" {word}", autoescape=True) for word in words]


def worded(tenant: str, text: str) -> list[JobIds]:
    """For the longest words of a text the jobs that have one beginning so."""
    words = sorted(words_of(text), key=len, reverse=True)[:_MOST_LOOKED_UP]
    return [
        select(job_words.c.job_id).where(
            job_words.c.tenant == tenant,
            job_words.c.word >= word,
            job_words.c.word < word + _LAST_CHARACTER,
        )
        for word in words
    ]


def store_words(
    database: Database,
    connection: Connection,
    before: Mapping[JobKey, Job | None],
    words: Mapping[JobKey, Iterable[str]],
) -> None:
    """The jobs in `words` have these now."""
    gone: dict[str, list[tuple[str, str]]] = defaultdict(list)
    new: list[tuple[str, str, str]] = []
    for key, found in words.items():
        had, has = set(words_of_job(before.get(key))), set(found)
        if had - has:
            gone[key.tenant] += ((word, key.job_id) for word in had - has)
        new += ((key.tenant, word, key.job_id) for word in has - had)
    _remove(database, connection, gone)
    database.upsert(connection, job_words, new)


def _remove(
    database: Database, connection: Connection, gone: Mapping[str, Iterable[tuple[str, str]]]
) -> None:
    for tenant, pairs in gone.items():
        are_gone = database.are_listed(job_words.c.word, job_words.c.job_id)
        of_tenant = delete(job_words).where(job_words.c.tenant == tenant)
        connection.execute(of_tenant.where(are_gone), listing(pairs))
