"""What can go wrong at the broker, sorted by what the caller must do.

    BrokerError
     ├─ Retry                 nothing has happened: do the same again, after a pause
     │   ├─ BrokerUnreachable     no answer within the time the caller gave
     │   └─ AbortTransaction      abort the open transaction, then prepare it again
     ├─ Fenced                somebody else has taken over: drop all partitions, build a new
     │   │                    producer, join the group again
     │   └─ StaleGeneration       the group has rebalanced meanwhile, the member may well be in it:
     │                            abort, poll, go on with what is still assigned
     ├─ OutcomeUnknown        it may or may not have happened. In a transaction: new producer,
     │                        fence the old transactional id, read the committed offsets again
     ├─ Rebuild               the log is not what the local store was built from: wipe it and
     │                        replay
     └─ Die                   no repetition helps: tell the operator and exit
         ├─ PropertiesRefused     the client's properties are wrong: no broker was asked
         └─ RecordRefused         this one record can never be written; the process is sound

Every error of the Kafka client is translated into one of these at one place, `kafka/translate.py`.
"""

from typing import Self

FENCED_INSTANCE = "FENCED_INSTANCE_ID"
"""The code of the `Die` that tells a static member that its place in the group has been taken."""


class BrokerError(Exception):
    """A failed call: what was tried, why it failed, where, and what to do about it.

    `code` is Kafka's own name of the error (`ILLEGAL_GENERATION`, `_FENCED`), if it has one.
    """

    advice = ""

    def __init__(
        self,
        reason: str,
        *,
        code: str = "",
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.topic = topic
        self.partition = partition
        self.offset = offset

    @property
    def place(self) -> str:
        """`topic[partition]@offset`, as far as known, else empty."""
        partition = "" if self.partition is None else f"[{self.partition}]"
        offset = "" if self.offset is None else f"@{self.offset}"
        return f"{self.topic}{partition}{offset}" if self.topic else ""

    def at(self, topic: str, partition: int | None = None, offset: int | None = None) -> Self:
        """This error, its place set."""
        self.topic, self.partition, self.offset = topic, partition, offset
        return self

    def __str__(self) -> str:
        code = f" ({self.code})" if self.code else ""
        place = f" at {self.place}" if self.place else ""
        return f"{self.reason}{code}{place}; {self.advice}"


class Retry(BrokerError):
    """A passing fault; the call had no effect."""

    advice = "try again after a pause"


class BrokerUnreachable(Retry):
    """No answer within the time given."""

    advice = "check that the brokers are up and that their address is right, or wait longer"


class AbortTransaction(Retry):
    """The open transaction can only be aborted."""

    advice = "abort the transaction and prepare it again"


class Fenced(BrokerError):
    """This producer or group member has been replaced; nothing it writes counts any more."""

    advice = "drop all partitions, build a new producer and join the group again"


class StaleGeneration(Fenced):
    """The group metadata is from before a rebalance, which need not have taken anything away."""

    advice = "abort, poll the group, and go on with the partitions that are still assigned"


class OutcomeUnknown(BrokerError):
    """The call may have taken effect, and may still do so."""

    advice = (
        "read the log before it is written again; a transactional producer has to be built anew "
        "first, which fences this one"
    )


class Rebuild(BrokerError):
    """The offset asked for is not in the log, or the topic is another one of the same name."""

    advice = "wipe the local store of this partition and replay the log"


class Die(BrokerError):
    """Wrong settings, missing rights, a missing topic, a second process of the same identity."""

    advice = "this does not pass by itself: correct the settings or the cluster, then start again"


class PropertiesRefused(Die):
    """The client does not take its properties: one is unknown, or has a value that cannot be."""

    advice = "correct this property of the Kafka client (TOCSIN_KAFKA__*)"


class RecordRefused(Die):
    """The broker or the client refuses this record, for its size or its content."""

    advice = "the record cannot be written as it is; others can"
