"""What is asked of every command alike: how to write the answer, and whose jobs are meant."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Literal

import typer
from typer.core import TyperGroup

Output = Literal["table", "json", "yaml"]


@dataclass
class Invocation:
    """The context object of every command. tenant: None = as the settings say."""

    output: Output = "table"
    tenant: str | None = None


def invocation_of(context: typer.Context) -> Invocation:
    """What stands beside the command in `context`."""
    invocation = context.find_root().obj
    assert isinstance(invocation, Invocation)
    return invocation


def _remember(context: typer.Context, parameter: typer.CallbackParam, value: str | None) -> None:
    if value is not None:
        setattr(invocation_of(context), str(parameter.name), value)


OutputOption = Annotated[
    Output | None,
    typer.Option(
        "--output",
        help="How to write the answer: for people or for programs.",
        callback=_remember,
        expose_value=False,
        show_default="table",
    ),
]
TenantOption = Annotated[
    str | None,
    typer.Option(
        "--tenant",
        metavar="NAME",
        help="Whose jobs are meant.",
        callback=_remember,
        expose_value=False,
        show_default="TOCSIN_TENANT",
    ),
]


def share_options(root: TyperGroup, names: Collection[str]) -> None:
    """Let `--output` and `--tenant` stand behind these commands too, not only before."""
    shared = [option for option in root.params if option.name in ("output", "tenant")]
    found = [root.commands[name] for name in names]
    while found:
        command = found.pop()
        if isinstance(command, TyperGroup):
            found.extend(command.commands.values())
        else:
            command.params.extend(shared)
