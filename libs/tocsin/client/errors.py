"""What a call can raise.

TocsinError
 ├─ Unreachable          no answer: the gateway is down, or the address is wrong
 ├─ StillRunning         `wait_for_run` has waited long enough
 └─ ApiError             the gateway answered with a problem
     ├─ Invalid          the request is wrong; `errors` names each field     400 413 415 422
     ├─ NotAllowed       the token is missing, wrong, or not good for this   401 403
     ├─ NotFound         there is no such job or run                         404
     ├─ Conflict         it exists, has ended, or is at another revision     409 412
     └─ Unavailable      not now: Kafka or the gateway cannot                429 500 503 …
"""

from tocsin.model.errors import FieldError
from tocsin.model.values import Value


class ProblemDetails(Value, frozen=True, forbid_unknown_fields=False):
    """An answer of the gateway that is no success (RFC 9457)."""

    type: str = "about:blank"
    title: str = ""
    status: int = 0
    detail: str = ""
    errors: tuple[FieldError, ...] = ()
    request_id: str = ""
    done: int | None = None


class TocsinError(Exception):
    """The base of all errors of the client."""


class Unreachable(TocsinError):
    """The gateway gave no answer; whether the call took effect is not known."""


class StillRunning(TocsinError, TimeoutError):
    """The run has not ended within the time given."""


class ApiError(TocsinError):
    """The gateway answered with a problem."""

    def __init__(self, problem: ProblemDetails) -> None:
        super().__init__(_sentence(problem))
        self.problem = problem

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.problem.status

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """The fields that are wrong, if it was that."""
        return self.problem.errors

    @property
    def done(self) -> int | None:
        """Of how many jobs or runs a bulk command that ended early has said that they are done."""
        return self.problem.done


class Invalid(ApiError):
    """The request is wrong."""


class NotAllowed(ApiError):
    """The token is missing, wrong, or not good for this."""


class NotFound(ApiError):
    """There is no such job or run."""


class Conflict(ApiError):
    """It exists, has ended, or is at another revision than the one meant."""


class Unavailable(ApiError):
    """The gateway cannot do it now."""


def error_of(problem: ProblemDetails) -> ApiError:
    """The error for an answer."""
    match problem.status:
        case 401 | 403:
            return NotAllowed(problem)
        case 404:
            return NotFound(problem)
        case 409 | 412:
            return Conflict(problem)
        case 429:
            return Unavailable(problem)
        case status if status < 500:
            return Invalid(problem)
    return Unavailable(problem)


def _sentence(problem: ProblemDetails) -> str:
    told = problem.detail or problem.title or f"the gateway answered {problem.status}"
    fields = [str(error) for error in problem.errors if error.message not in told]
    return "; ".join([told, *fields])
