"""Why a command was not carried out.

CommandError
 ├─ NotDurable       Kafka has not acknowledged it in time; it may or may not be in the log
 ├─ Unconfirmed      it is in the log; the read model has not reached it in time
 ├─ TooLarge         the broker refuses a record of this size
 ├─ NoSuchJob        the job does not exist
 ├─ JobExists        it does, and must not
 ├─ WrongRevision    the job is not at the revision that the command was for
 ├─ Busy             others changed the job again and again in the meantime
 ├─ InFlight         the same request is being carried out
 ├─ KeyReused        its idempotency key was used for another request
 ├─ NoSuchRun        the run is not in the history
 ├─ NoSuchBackfill   the backfill is not in the history
 ├─ BackfillEnded    it has no slot left to run
 ├─ CountDiffers     a filter matches another number than was expected
 ├─ TooMany          a filter matches more than can be dealt with at once
 ├─ TokenExists      a token of that name is good
 ├─ NoSuchToken      there is none of that name that could be revoked
 ├─ NotDead          the run is not dead, or its record is gone
 ├─ NotDeferred      the run was not left open by its handler
 └─ RunEnded         nothing of the run is left to act on
"""


class CommandError(Exception):
    """The message is a sentence for the person who gave the command. done: of a command for many,
    how many are certainly dealt with."""

    done: int | None = None


class NotDurable(CommandError):
    """Kafka has not acknowledged the command; it may or may not be in the log."""


class Unconfirmed(CommandError):
    """The command is in the log, but the read model has not reached it in time."""


class TooLarge(CommandError):
    """The broker refuses a record of this size."""


class NoSuchJob(CommandError):
    """The job does not exist."""


class JobExists(CommandError):
    """The job exists, and must not."""


class WrongRevision(CommandError):
    """The job is not at the revision that the command was for."""


class Busy(CommandError):
    """Others changed the job again and again in the meantime."""


class InFlight(CommandError):
    """The same request is being carried out."""


class KeyReused(CommandError):
    """The request's idempotency key was used for another request."""


class NoSuchBackfill(CommandError):
    """The backfill is not in the history."""


class BackfillEnded(CommandError):
    """The backfill has no slot left to run."""


class TokenExists(CommandError):
    """A token of that name is good."""


class NoSuchToken(CommandError):
    """There is no token of that name that could be revoked."""


class CountDiffers(CommandError):
    """A filter matches another number than was expected."""


class TooMany(CommandError):
    """A filter matches more than can be dealt with at once."""


class NotDead(CommandError):
    """The run is not dead, or its record is gone."""


class NoSuchRun(CommandError):
    """The run is not in the history."""


class RunEnded(CommandError):
    """The run has ended."""


class NotDeferred(CommandError):
    """Only a deferred run, and its present attempt, can be completed."""
