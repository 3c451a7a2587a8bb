"""Rules for the configurations of handlers that are not Tocsin's own.

They hold where a job is written over the API. The fold of the jobs topic knows nothing of them:
what is accepted must not depend on what is installed where.
"""

from collections.abc import Iterator, Mapping
from typing import cast

from tocsin.model.errors import FieldError
from tocsin.model.handlers import CHECKERS, Check, config_errors
from tocsin.model.jobs import Handler
from tocsin.plugins import HANDLER_CHECKS, UnusablePlugin, installed


class HandlerChecks:
    """The checks of one gateway, by handler type."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks

    def errors(self, handler: Handler) -> Iterator[FieldError]:
        """What is wrong by the rules of the handler's author, on top of Tocsin's own."""
        if handler.type in self._checks:
            yield from config_errors(handler, self._checks[handler.type])

    def covers(self, handler: Handler) -> bool:
        """Whether somebody here knows what this handler's configuration should be."""
        return handler.type in CHECKERS or handler.type in self._checks


def installed_checks() -> HandlerChecks:
    """By the entry points `tocsin.handler_checks`; raises `UnusablePlugin`."""
    checks: dict[str, Check] = {}
    for plugin in installed(HANDLER_CHECKS):
        if plugin.name in CHECKERS or plugin.name in checks:
            raise UnusablePlugin(
                f"{plugin.origin}: {HANDLER_CHECKS} has {plugin.name!r}, which has a check already"
            )
        checks[plugin.name] = cast("Check", plugin.load())
    return HandlerChecks(checks)
