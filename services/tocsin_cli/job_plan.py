"""Jobs that live in a file, compared with those that are stored, and made so."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeVar

import yaml

from tocsin.client import Client, Job, NotFound, TocsinError
from tocsin.model.strict_json import JsonObject
from tocsin_cli.failures import INVALID, CommandFailed, explain
from tocsin_cli.job_files import Definition
from tocsin_cli.progress import counting_down

T = TypeVar("T")
R = TypeVar("R")

Action = Literal["create", "update", "delete", "keep"]


class Change(NamedTuple):
    """What becomes of one job. revision: what the change was seen against."""

    job_id: str
    action: Action
    wanted: Definition | None
    revision: int | None
    diff: str

    def to_json(self) -> dict[str, object]:
        return {"job_id": self.job_id, "action": self.action, "diff": self.diff}


def file_tenant(jobs: Iterable[Definition], tenant: str | None) -> str | None:
    """The tenant that the jobs name, else `tenant`. Raises CommandFailed where they name several,
    or another than was asked for."""
    named = {str(job["tenant"]) for job in jobs if job.get("tenant") is not None}
    if tenant is not None:
        named.add(tenant)
    if len(named) > 1:
        raise CommandFailed(
            f"one file is for one tenant, found {', '.join(sorted(named))}", INVALID
        )
    return next(iter(named), None)


def plan(
    tocsin: Client,
    wanted: Sequence[tuple[str, Definition]],
    prune: tuple[str, str] | None,
) -> list[Change]:
    """What it takes to make it so; writes nothing. prune: jobs that have this tag and are not
    wanted go. Raises CommandFailed where a job that is wanted does not have it."""
    if prune is not None:
        _check_tags(wanted, *prune)
    changes = each_of(wanted, lambda one: _change(tocsin, *one), "comparing")
    if prune is not None:
        kept = {job_id for job_id, _ in wanted}
        stored = tocsin.list(tags=dict([prune]))
        changes += [_deletion(job) for job in stored if job.job_id not in kept]
    return changes


def carry_out(tocsin: Client, changes: Iterable[Change]) -> None:
    """Make it so, each job only as it was seen. Raises the client's errors, `Conflict` where
    somebody else was faster."""
    each_of(
        [change for change in changes if change.action != "keep"],
        lambda change: _carry_out(tocsin, change),
        "writing",
    )


def each_of(jobs: Sequence[T], do: Callable[[T], R], doing: str) -> list[R]:
    """What `do` makes of each; of several with a bar on a terminal. Raises what `do` raises, of
    several CommandFailed, which says how many are dealt with."""
    if len(jobs) < 2:
        return [do(job) for job in jobs]
    found = list[R]()
    with counting_down(doing, "jobs") as tell:
        for job in jobs:
            tell(len(jobs) - len(found))
            try:
                found.append(do(job))
            except TocsinError as error:
                failure = explain(error)
                if failure is None:
                    raise
                told = (
                    f"{doing}: {len(found):,} of {len(jobs):,} are done; then: {failure.sentence}"
                )
                raise CommandFailed(told, failure.exit_code) from error
    return found


def _carry_out(tocsin: Client, change: Change) -> None:
    if change.action == "delete":
        tocsin.delete(change.job_id, if_revision=change.revision)
        return
    tocsin.put(
        change.job_id,
        change.wanted,
        if_revision=change.revision,
        if_absent=change.revision is None,
    )


def _change(tocsin: Client, job_id: str, definition: Definition) -> Change:
    try:
        stored = tocsin.get(job_id)
    except NotFound:
        stored = None
    would_be = tocsin.put(job_id, definition, dry_run=True)
    diff = _diff(job_id, _shown(stored, definition), _shown(would_be, definition))
    if stored is None:
        return Change(job_id, "create", definition, None, diff)
    return Change(job_id, "update" if diff else "keep", definition, stored.revision, diff)


def _deletion(job: Job) -> Change:
    return Change(job.job_id, "delete", None, job.revision, _diff(job.job_id, _shown(job, {}), ""))


def _check_tags(wanted: Sequence[tuple[str, Definition]], name: str, value: str) -> None:
    for job_id, definition in wanted:
        tags = definition.get("tags")
        if not isinstance(tags, dict) or tags.get(name) != value:
            raise CommandFailed(
                f"--prune {name}={value}: {job_id} does not have this tag; give it to every job of "
                "the file, or the next run would not know the job as its own",
                INVALID,
            )


def _shown(job: Job | None, wanted: Definition) -> str:
    """Its definition; without its status where the file leaves that alone."""
    if job is None:
        return ""
    document: JsonObject = job.definition()
    for name in {"status", "status_note"} - wanted.keys():
        document.pop(name, None)
    return yaml.safe_dump(document, sort_keys=True, allow_unicode=True)


def _diff(job_id: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "stored", f"file: {job_id}", lineterm="", n=2
    )
    return "\n".join(lines)
