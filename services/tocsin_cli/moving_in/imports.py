"""What is made of another scheduler's file: jobs, and what did not carry over."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from tocsin.client.definitions import NotJson, to_object
from tocsin.model.errors import InvalidJob
from tocsin.model.job_json import parse_job
from tocsin.model.keys import DEFAULT_TENANT, InvalidKey, job_key

Definition = dict[str, object]

_NOT_IN_ID = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_OF_ID = 180


class UnreadableFile(ValueError):
    """The file is not of the kind that it was said to be; the message says where and why."""


class Notice(NamedTuple):
    """Something that did not carry over. where: of the file. lost: a whole job."""

    where: str
    what: str
    lost: bool = False


class Import(NamedTuple):
    """jobs: definitions that are valid, each with an id of its own."""

    jobs: list[Definition]
    notices: list[Notice]


class Collector:
    """Takes jobs as they are found; each gets its id, and is checked."""

    def __init__(self, origin: str) -> None:
        """`origin`: the tag `imported-from` of all jobs, to tell them by."""
        self._origin = origin
        self._ids: set[str] = set()
        self._jobs: list[Definition] = []
        self._notices: list[Notice] = []

    def add(self, where: str, name: str, definition: Definition) -> None:
        """A job, which is left out with a notice where it would not be accepted. `name`: what its
        id is made of; fields that are None are left out."""
        job_id = self._free_id(name)
        fields = {field: value for field, value in definition.items() if value is not None}
        job: Definition = {"job_id": job_id, **fields, "tags": {"imported-from": self._origin}}
        try:
            parse_job(to_object(job), job_key(DEFAULT_TENANT, job_id))
        except (InvalidJob, InvalidKey, NotJson) as error:
            self.lose(where, str(error))
            return
        self._ids.add(job_id)
        self._jobs.append(job)

    def note(self, where: str, what: str) -> None:
        """A part of a job that did not carry over."""
        self._notices.append(Notice(where, what))

    def lose(self, where: str, why: str) -> None:
        """A job that did not carry over."""
        self._notices.append(Notice(where, f"left out: {why}", lost=True))

    def finish(self) -> Import:
        return Import(self._jobs, self._notices)

    def _free_id(self, name: str) -> str:
        base = _NOT_IN_ID.sub("-", name).strip("-._")[:_MOST_OF_ID] or "job"
        candidates = (base if number == 1 else f"{base}-{number}" for number in range(1, 100_000))
        return next(each for each in candidates if each not in self._ids)


def in_shadow(jobs: Iterable[Definition]) -> list[Definition]:
    """The jobs with handlers that do nothing: the schedule can be watched beside the old system."""
    return [{**job, "handler": {"type": "noop"}} for job in jobs]
