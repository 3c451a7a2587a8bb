"""The configuration in a job as a handler's own type."""

from functools import lru_cache
from typing import TypeVar, cast

import msgspec

from tocsin.model.handlers import Check, config_errors, handler_errors
from tocsin.model.jobs import Handler
from tocsin.model.runs import Error
from tocsin_worker.handlers.port import HandlerFailed

C = TypeVar("C", bound=msgspec.Struct)


def read_config(handler: Handler, kind: type[C], check: Check | None = None) -> C:
    """The configuration, checked by the model's rules, and by `check` where the handler is not
    Tocsin's own. Raises `HandlerFailed`, permanent: the same bytes will never mean more."""
    return cast("C", _read(handler, kind, check))


def unusable(message: str) -> HandlerFailed:
    """What a job asks for cannot be done, whoever tries."""
    return HandlerFailed(Error(code="invalid", message=message, permanent=True))


@lru_cache(maxsize=4096)
def _read(handler: Handler, kind: type[msgspec.Struct], check: Check | None) -> msgspec.Struct:
    """Remembered: jobs run many times."""
    errors = handler_errors(handler) if check is None else config_errors(handler, check)
    problems = "; ".join(str(error) for error in errors)
    if problems:
        raise unusable(f"the configuration of {handler.type} is not valid: {problems}")
    try:
        return msgspec.json.decode(handler.config, type=kind)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise unusable(f"the configuration of {handler.type} is not valid: {error}") from None
