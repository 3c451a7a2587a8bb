"""What a write depends on."""

from typing import Literal

from tocsin.model.values import Value
from tocsin_gateway.commands.errors import WrongRevision


class Precondition(Value, frozen=True):
    """revisions: the job has to be at one of these; None = at any, empty = it cannot be.
    exists: it has to exist (True), must not exist (False)."""

    revisions: tuple[int, ...] | None = None
    exists: bool | None = None

    @property
    def names_revision(self) -> bool:
        """Whether another revision than the one meant ends the matter."""
        return self.revisions is not None or self.exists is False

    def condition(self, revision: int | None) -> int | Literal["none"] | None:
        """The condition for the log to decide on, where the job was last seen at `revision` (None
        = it did not exist). Raises `WrongRevision` where no log could fulfil it."""
        if self.exists is False:
            return "none"
        if self.exists is True and revision is None:
            raise WrongRevision("the job does not exist")
        if self.revisions is None:
            return None if self.exists is None else revision
        if not self.revisions:
            raise WrongRevision("If-Match has no ETag that was ever given out")
        return revision if revision in self.revisions else max(self.revisions)


NO_CONDITION = Precondition()
MUST_NOT_EXIST = Precondition(exists=False)
