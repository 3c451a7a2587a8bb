"""Transactions and how they end."""

import logging
from collections.abc import Collection
from enum import StrEnum

from tocsin.broker.errors import BrokerError, Die, Fenced, Retry
from tocsin.broker.port import AppendTime, GroupMember
from tocsin.wire.topics import Topics
from tocsin_scheduler.shell.live import Live
from tocsin_scheduler.shell.producer_seat import ProducerSeat
from tocsin_scheduler.shell.spreading import Spreading
from tocsin_scheduler.shell.transaction import Limits, Transaction

LOG = logging.getLogger(__name__)

ABORT_S = 5.0

_GROUP_HAS_MOVED_ON = frozenset(
    {
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "REBALANCE_IN_PROGRESS",
        "FENCED_MEMBER_EPOCH",
        "STALE_MEMBER_EPOCH",
    }
)
"""The member's generation has passed; its producer may be as good as before. What this process
still holds is told by its next polls, and no commit succeeds before that."""


class Ended(StrEnum):
    """How a transaction has ended. Unless it is `aborted` or `committed`, the producer is gone.

    unknown: it may have been committed. fenced: another process has taken over.
    """

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    FENCED = "fenced"


class Commits:
    """Runs transactions on the seat's producer, for the present group member.

    is_fenced: somebody has taken over from this process; its owner takes that back when it has
    dropped everything.

    Raises `Die` only, and what `ProducerSeat.fill` raises.
    """

    def __init__(self, seat: ProducerSeat, topics: Topics, spreading: Spreading) -> None:
        self._seat = seat
        self._spreading = spreading
        self._topics = topics
        self.is_fenced = False
        self.fencings = 0
        self.member: GroupMember | None = None

    @property
    def last_append(self) -> AppendTime | None:
        """The brokers' clock as the producer last saw it."""
        return None if self._seat.producer is None else self._seat.producer.last_append

    def run(
        self,
        now: int,
        kept: Collection[Live],
        released: Collection[Live] = (),
        watermarks: Collection[Live] = (),
        limits: Limits = Limits(),  # noqa: B008 — frozen
    ) -> Ended:
        """One transaction (see `Transaction`); whatever fails, nothing is left open that this
        process could have ended."""
        assert self.member is not None
        producer = self._seat.fill()
        transaction = Transaction(self._topics, self._seat.id, now, kept, released, watermarks)
        choosers = self._spreading.choosers
        try:
            transaction.run(producer, self.member.group_metadata(), choosers, limits)
        except Die:
            self._seat.vacate()
            raise
        except BrokerError as error:
            ended = self._end(error)
            LOG.warning(
                "a transaction ended %s: %s",
                ended,
                error,
                extra={"action": "transaction_failed", "ended": ended.value},
            )
            return ended
        return Ended.COMMITTED

    def _end(self, error: BrokerError) -> Ended:
        if not isinstance(error, (Retry, Fenced)):
            self._seat.vacate()
            return Ended.UNKNOWN
        ended = self._abort()
        if isinstance(error, Fenced) and error.code not in _GROUP_HAS_MOVED_ON:
            ended = Ended.FENCED
        if ended is not Ended.ABORTED:
            self._seat.vacate()
        if ended is Ended.FENCED:
            self.is_fenced = True
            self.fencings += 1
        return ended

    def _abort(self) -> Ended:
        """What becomes of what was begun. One that was frozen may learn only by this that it is
        fenced, if whatever it did before has timed out."""
        producer = self._seat.producer
        assert producer is not None
        try:
            producer.abort(ABORT_S)
        except Fenced:
            return Ended.FENCED
        except BrokerError:
            return Ended.UNKNOWN
        return Ended.ABORTED
