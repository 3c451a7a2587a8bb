"""What several commands about runs take."""

from typing import Annotated

import typer

RunArgument = Annotated[str, typer.Argument(metavar="RUN_ID")]
TagOption = Annotated[list[str] | None, typer.Option(metavar="NAME[=VALUE]", help="Of the job.")]
HandlerOption = Annotated[str | None, typer.Option(metavar="TYPE", help="Such as http.")]
SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME|AGO", help="RFC 3339, or 15m, 2h, 1d ago.")
]
UntilOption = Annotated[str | None, typer.Option(metavar="TIME|AGO", help="The same.")]
