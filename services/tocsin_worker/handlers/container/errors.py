"""What the container engine answers where it refuses."""

import msgspec


class EngineError(Exception):
    """The engine answers, and refuses. `status`: of HTTP; 0 where a pull fails on its way."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def problem_of(content: bytes) -> str:
    """The message in the body of such an answer."""
    try:
        return str(msgspec.json.decode(content)["message"])
    except (msgspec.DecodeError, KeyError, TypeError, UnicodeDecodeError):
        return content[:500].decode(errors="replace")
