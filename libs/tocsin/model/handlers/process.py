"""The configuration of handler `process`."""

import re

from tocsin.model.fields import Fields, WrongValue, text
from tocsin.model.handlers.texts import arguments, check_environment, matching

_user = matching(re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", re.ASCII), "the name of a user")


def check_process(config: Fields) -> None:
    """Notes all that is wrong; see `docs/handlers.md` for the fields."""
    config.require("argv")
    config.read("argv", (), arguments)
    config.read("directory", None, folder)
    config.read("user", None, _user)
    check_environment(config)
    config.finish()


def folder(value: object) -> str:
    """An absolute path."""
    if not text(value).startswith("/"):
        raise WrongValue("path", "must be an absolute path such as /srv/reports")
    return text(value)
