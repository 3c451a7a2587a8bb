"""`tocsin schemas push URL`: the schemas into a registry of one's own."""

from typing import TYPE_CHECKING, Annotated

import typer

from tocsin_cli.invocation import invocation_of

if TYPE_CHECKING:
    from tocsin.wire.subjects import RegisteredSchema


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="The Avro schemas of the topics.", no_args_is_help=True)
    group.command("list")(_list)
    group.command("push")(_push)
    app.add_typer(group, name="schemas")


Pools = Annotated[
    list[str] | None,
    typer.Option("--pool", metavar="NAME", help="Its run topics too; may be repeated."),
]


def _list(context: typer.Context, pool: Pools = None) -> None:
    """List subjects, versions and ids."""
    from tocsin_cli.output import show, table

    found = _schemas(pool)
    columns = ("subject", "version", "id")
    rows = [(each.subject, each.version, each.schema_id) for each in found]
    show(invocation_of(context).output, found, lambda: table(columns, rows))


def _push(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="Such as http://registry:8081.")],
    pool: Pools = None,
) -> None:
    """Register the schemas under their ids in a Confluent-compatible registry; what is there
    already is left alone. Exit code 4 where an id or version is another schema's."""
    from tocsin_cli.output import show, table
    from tocsin_cli.registry import Pushed, Registry

    registry = Registry(url)
    try:
        pushed = [registry.push(schema) for schema in _schemas(pool)]
    finally:
        registry.close()
    answer = [each._asdict() for each in pushed]
    show(invocation_of(context).output, answer, lambda: table(Pushed._fields, pushed))


def _schemas(pools: list[str] | None) -> "list[RegisteredSchema]":
    from tocsin.wire.subjects import registered_schemas
    from tocsin.wire.topics import DEFAULT_POOL, Topics
    from tocsin_cli.surroundings import settings

    wanted = dict.fromkeys([DEFAULT_POOL, *(pools or ())])
    return list(registered_schemas(Topics(settings().prefix), wanted))
