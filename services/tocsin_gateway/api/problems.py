"""What went wrong, for programs and people: RFC 9457 problem details."""

from collections.abc import Mapping, Sequence
from enum import Enum
from http import HTTPStatus

import msgspec

from tocsin.model.errors import FieldError
from tocsin.model.strict_json import JsonObject

MEDIA_TYPE = "application/problem+json"


class Kind(Enum):
    """A kind of problem: the last part of its `type`, its status and its title."""

    BAD_REQUEST = "bad-request", 400, "Request is not valid"
    NOT_JSON = "not-json", 400, "Body is not JSON"
    UNAUTHORIZED = "unauthorized", 401, "Token is missing or wrong"
    FORBIDDEN = "forbidden", 403, "Not allowed"
    NOT_FOUND = "not-found", 404, "Not found"
    METHOD_NOT_ALLOWED = "method-not-allowed", 405, "Method is not allowed here"
    EXISTS = "exists", 409, "Job exists"
    TOKEN_EXISTS = "token-exists", 409, "Token exists"
    ENDED = "ended", 409, "Run has ended"
    NOT_DEFERRED = "not-deferred", 409, "Run is not deferred"
    BUSY = "busy", 409, "Job is being changed by others"
    IN_FLIGHT = "in-flight", 409, "Request is being carried out"
    NOT_DEAD = "not-dead", 409, "Run is not dead"
    COUNT = "count", 409, "Filter matches another number"
    REVISION = "revision", 412, "Job is at another revision"
    TOO_LARGE = "too-large", 413, "Body is too large"
    MEDIA_TYPE = "media-type", 415, "Body is not of a type that is read here"
    INVALID_JOB = "invalid-job", 422, "Job is not valid"
    INVALID_REQUEST = "invalid-request", 422, "Request is not valid"
    KEY_REUSED = "key-reused", 422, "Idempotency key was used for another request"
    TOO_MANY = "too-many", 422, "Filter matches too many"
    TOO_MANY_REQUESTS = "too-many-requests", 429, "Too many requests"
    TOO_MANY_STREAMS = "too-many-streams", 429, "Too many streams of this tenant are open"
    INTERNAL = "internal", 500, "Something is wrong with the gateway"
    NOT_DURABLE = "not-durable", 503, "Kafka did not acknowledge in time"
    UNCONFIRMED = "unconfirmed", 503, "Written, but not confirmed in time"
    NOT_READY = "not-ready", 503, "The read model is being built; nothing was done"
    STREAMS_FULL = "streams-full", 503, "This gateway has no stream left"
    UNAVAILABLE = "unavailable", 503, "The read model does not answer"

    def __init__(self, slug: str, status: int, title: str) -> None:
        self.slug = slug
        self.status = status
        self.title = title


class Problem(Exception):
    """Ends a request with this answer. done: how many a command for many has dealt with."""

    def __init__(
        self,
        kind: Kind,
        detail: str,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        done: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.errors = tuple(errors)
        self.done = done
        self.headers = dict(headers or {})
        if kind.status == HTTPStatus.SERVICE_UNAVAILABLE or kind is Kind.IN_FLIGHT:
            self.headers.setdefault("Retry-After", "2")

    def document(self, request_id: str) -> JsonObject:
        """The body of the answer."""
        errors = [msgspec.structs.asdict(error) for error in self.errors]
        return {
            "type": f"/problems/{self.kind.slug}",
            "title": self.kind.title,
            "status": self.kind.status,
            "detail": self.detail,
            **({"errors": list(errors)} if errors else {}),
            **({} if self.done is None else {"done": self.done}),
            "request_id": request_id,
        }


def invalid(kind: Kind, errors: Sequence[FieldError]) -> Problem:
    """The answer to a document with wrong fields."""
    count = "1 field is" if len(errors) == 1 else f"{len(errors)} fields are"
    return Problem(kind, f"{count} wrong", errors)


def invalid_parameter(name: str, keyword: str, message: str) -> Problem:
    """The answer to a wrong parameter of the query; its pointer is the parameter's name."""
    error = FieldError(pointer=f"/{name}", keyword=keyword, message=message)
    return Problem(Kind.INVALID_REQUEST, f"query parameter {name}: {message}", [error])
