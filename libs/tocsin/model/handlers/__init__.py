"""Configurations of the handlers that come with Tocsin; others are their authors' business.

These are rules of the definition: the API, the fold and every worker judge a configuration by
them, so what one accepts no other refuses. A type that is not in `CHECKERS` is somebody's own: its
author's `Check`, where one is installed, holds at the API (`tocsin.plugins`).
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from tocsin.model.errors import FieldError
from tocsin.model.fields import Fields
from tocsin.model.handlers.container import check_container, check_kubernetes
from tocsin.model.handlers.http import check_http
from tocsin.model.handlers.kafka import check_kafka
from tocsin.model.handlers.process import check_process
from tocsin.model.handlers.texts import filled
from tocsin.model.jobs import Handler
from tocsin.model.strict_json import InvalidJson, loads

MAX_TYPE: Final = 63

Check = Callable[[Fields], None]
"""Reads every field of a configuration, and notes all that is wrong; ends with `finish`."""

_TYPE = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)


def handler_errors(handler: Handler) -> Iterator[FieldError]:
    """All that is wrong with a handler; pointers begin with `/handler`."""
    if len(handler.type) > MAX_TYPE or not _TYPE.fullmatch(handler.type):
        message = (
            f"is not a handler type: at most {MAX_TYPE} of a-z, 0-9, '_' and '-', a letter first"
        )
        yield FieldError(pointer="/handler/type", keyword="pattern", message=message)
        return
    yield from config_errors(handler, CHECKERS.get(handler.type, _anything))


def config_errors(handler: Handler, check: Check) -> list[FieldError]:
    """What `check` finds in the configuration; pointers begin with `/handler`."""
    try:
        config = loads(handler.config)
    except InvalidJson as error:
        message = f"is not JSON: {error}"
        return [FieldError(pointer="/handler", keyword="json", message=message)]
    errors: list[FieldError] = []
    fields = Fields(config, errors, ("handler",))
    if fields.has("type"):
        fields.error(("type",), "unknown", "type is the handler's own and stands beside its config")
    else:
        check(fields)
    return errors


def _anything(config: Fields) -> None:
    """Somebody else's, of which nothing is known here."""


def _noop(config: Fields) -> None:
    config.finish()


def _task(config: Fields) -> None:
    config.require("name")
    config.read("name", "", filled)
    config.finish()


CHECKERS: Final[dict[str, Check]] = {
    "http": check_http,
    "noop": _noop,
    "kafka": check_kafka,
    "container": check_container,
    "kubernetes": check_kubernetes,
    "process": check_process,
    "task": _task,
}
