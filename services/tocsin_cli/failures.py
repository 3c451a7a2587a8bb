"""Errors as the command line tells them: one sentence and an exit code."""

from typing import NamedTuple

OK, NEGATIVE, INVALID, UNREACHABLE, CONFLICT, INTERRUPTED = 0, 1, 2, 3, 4, 130

_NOT_UTF_8 = "surrogates not allowed"
"""What Python makes of an argument in another encoding cannot be sent."""


class Failure(NamedTuple):
    """What the user reads, and the exit code."""

    sentence: str
    exit_code: int


class CommandFailed(Exception):
    """A command cannot do what was asked; the message is a sentence with the next step."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def explain(error: Exception) -> Failure | None:
    """What to say of `error`; None for one that nobody expects, which is a defect of Tocsin."""
    if isinstance(error, CommandFailed):
        return Failure(str(error), error.exit_code)
    for kinds, exit_code in _exit_codes():
        if isinstance(error, kinds):
            return Failure(str(error), exit_code)
    if isinstance(error, UnicodeEncodeError) and error.reason == _NOT_UTF_8:
        return Failure(f"{error.object[:80]!r} is not text in UTF-8", INVALID)
    if isinstance(error, OSError) and error.filename:
        return Failure(f"{error.filename}: {error.strerror}", NEGATIVE)
    return None


def _exit_codes() -> list[tuple[tuple[type[Exception], ...], int]]:
    """Imported only now: a command that succeeds need not know how others fail."""
    from tocsin import client
    from tocsin.broker import errors as broker
    from tocsin.broker.local.errors import LocalBrokerError
    from tocsin.health import CannotListen
    from tocsin.settings import InvalidSettings
    from tocsin.wire.topic_specs import InvalidTopicFile

    return [
        (
            (
                InvalidSettings,
                broker.PropertiesRefused,
                InvalidTopicFile,
                client.Invalid,
                client.NotAllowed,
            ),
            INVALID,
        ),
        ((client.Unreachable, client.Unavailable, broker.Retry, LocalBrokerError), UNREACHABLE),
        ((client.Conflict, broker.Fenced), CONFLICT),
        ((client.TocsinError, broker.BrokerError, CannotListen), NEGATIVE),
    ]
