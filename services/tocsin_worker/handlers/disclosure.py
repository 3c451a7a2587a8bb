"""The secrets that one attempt was told, and keeping them out of what it leaves behind."""

from tocsin.model.handlers.texts import SCHEME
from tocsin.model.runs import Error
from tocsin_worker.handlers.port import HandlerFailed
from tocsin_worker.handlers.secrets import MissingSecretError, Secrets

HIDDEN = "***"
SHORTEST = 4
"""Secrets of fewer characters are not looked for: they would be found everywhere."""


class Disclosure:
    """Resolves references, and remembers what they stood for.

    A target may send back what it was sent; `hide` and `hide_in` keep it out of history.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._told: list[str] = []

    @property
    def longest(self) -> int:
        """Bytes of the longest secret: what is cut before it is hidden needs that much more."""
        return max((len(secret.encode()) for secret in self._told), default=0)

    def resolve(self, text: str) -> str:
        """`text` itself, or the secret that it refers to. Raises `HandlerFailed` where this worker
        has not the secret: another may have it."""
        if not text.startswith(SCHEME):
            return text
        try:
            value = self._secrets.resolve(text)
        except MissingSecretError as error:
            raise HandlerFailed(Error(code="invalid", message=str(error))) from None
        self.note(value)
        return value

    def note(self, derived: str) -> None:
        """Something made from a secret, or got for it, is one too."""
        if len(derived) >= SHORTEST and derived not in self._told:
            self._told.append(derived)
            self._told.sort(key=len, reverse=True)

    def hide(self, text: str) -> str:
        for secret in self._told:
            text = text.replace(secret, HIDDEN)
        return text

    def hide_in(self, data: bytes) -> bytes:
        for secret in self._told:
            data = data.replace(secret.encode(), HIDDEN.encode())
        return data

    def hide_cut_end(self, text: str) -> str:
        """As `hide`, for a text that goes on elsewhere: it may end inside a secret."""
        text = self.hide(text)
        for secret in self._told:
            for length in range(len(secret) - 1, SHORTEST - 1, -1):
                if text.endswith(secret[:length]):
                    return text[:-length] + HIDDEN
        return text

    def hide_cut_start(self, text: str) -> str:
        """As `hide`, for a text that may begin inside a secret."""
        text = self.hide(text)
        for secret in self._told:
            for length in range(len(secret) - 1, SHORTEST - 1, -1):
                if text.startswith(secret[-length:]):
                    return HIDDEN + text[length:]
        return text
