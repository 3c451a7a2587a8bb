"""`tocsin topics plan|apply|check`: the topics of an installation, made and compared."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin_cli.failures import INVALID, NEGATIVE, CommandFailed
from tocsin_cli.invocation import invocation_of

if TYPE_CHECKING:
    from tocsin.broker.admin import TopicAdmin
    from tocsin.wire.topic_specs import Change
    from tocsin_cli.topic_changes import WantedTopics

PartitionsOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Partitions of a new installation; fixed for life.", show_default="32"
    ),
]
ReplicationOption = Annotated[
    int | None,
    typer.Option(min=1, help="Copies of each partition; 1 on a single broker.", show_default="3"),
]
PoolOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pool", metavar="NAME", help="A pool of workers; may be repeated.", show_default="default"
    ),
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="The topics of an installation.", no_args_is_help=True)
    group.command("plan")(_plan)
    group.command("apply")(_apply)
    group.command("check")(_check)
    app.add_typer(group, name="topics")


def _plan(
    context: typer.Context,
    partitions: PartitionsOption = None,
    replication: ReplicationOption = None,
    pool: PoolOption = None,
) -> None:
    """Show what `apply` would do; changes nothing. Exit code 1 if it could not do all."""
    admin, wanted = _look(partitions, replication, pool)
    changes = wanted.changes(admin)
    _show(context, changes)
    _fail_on(change for change in changes if change.kind == "drift")


def _apply(
    context: typer.Context,
    partitions: PartitionsOption = None,
    replication: ReplicationOption = None,
    pool: PoolOption = None,
) -> None:
    """Make topics that are missing and mend their settings. Exit code 1 if some drift stays."""
    admin, wanted = _look(partitions, replication, pool)
    changes = wanted.changes(admin)
    _show(context, changes)
    _make(admin, changes)
    _fail_on(wanted.changes(admin))


def _check(context: typer.Context, pool: PoolOption = None) -> None:
    """Exit code 1 if a topic is missing or differs from what the services need."""
    admin, wanted = _look(None, None, pool)
    changes = wanted.changes(admin)
    _show(context, changes)
    _fail_on(changes)


def _look(
    partitions: int | None, replication: int | None, pools: Sequence[str] | None
) -> "tuple[TopicAdmin, WantedTopics]":
    from tocsin.broker.admin import TopicAdmin
    from tocsin.wire.topics import Topics
    from tocsin_cli.surroundings import settings
    from tocsin_cli.topic_changes import WantedTopics

    found = settings()
    wanted = WantedTopics(Topics(found.prefix), partitions, replication, tuple(pools or ()))
    return TopicAdmin(found.bootstrap(), found.kafka), wanted


def _make(admin: "TopicAdmin", changes: "Sequence[Change]") -> None:
    from tocsin.broker.errors import Die

    try:
        admin.apply(changes)
    except Die as error:
        if error.code != "INVALID_REPLICATION_FACTOR":
            raise
        raise CommandFailed(f"{error.reason.rstrip('.')}: try --replication 1", INVALID) from None


def _show(context: typer.Context, changes: "Sequence[Change]") -> None:
    from tocsin_cli.output import show, table

    answer = [{"topic": c.topic, "kind": c.kind, "message": c.message} for c in changes]
    show(
        invocation_of(context).output,
        answer,
        lambda: (
            table(("change", "what"), [(change.kind, change.message) for change in changes])
            if changes
            else "all topics are as they must be"
        ),
    )


def _fail_on(changes: "Iterable[Change]") -> None:
    if any(True for _ in changes):
        raise typer.Exit(NEGATIVE)
