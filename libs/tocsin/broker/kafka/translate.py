"""The one place where the Kafka client's errors become `tocsin.broker.errors`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from confluent_kafka import KafkaError, KafkaException

from tocsin.broker.errors import (
    AbortTransaction,
    BrokerError,
    BrokerUnreachable,
    Die,
    Fenced,
    OutcomeUnknown,
    Rebuild,
    RecordRefused,
    Retry,
    StaleGeneration,
)

TIMEOUTS = frozenset({"_TIMED_OUT", "_TIMED_OUT_QUEUE", "REQUEST_TIMED_OUT"})

_BY_KIND: dict[type[BrokerError], str] = {
    BrokerUnreachable: """
        _TIMED_OUT _TIMED_OUT_QUEUE REQUEST_TIMED_OUT _TRANSPORT _ALL_BROKERS_DOWN _RESOLVE
        NETWORK_EXCEPTION BROKER_NOT_AVAILABLE REBOOTSTRAP_REQUIRED
        _DESTROY_BROKER _NODE_UPDATE _UNKNOWN_BROKER
    """,
    Retry: """
        _WAIT_COORD _WAIT_CACHE _RETRY _QUEUE_FULL _IN_PROGRESS _PREV_IN_PROGRESS _CONFLICT
        COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR
        LEADER_NOT_AVAILABLE NOT_LEADER_FOR_PARTITION REPLICA_NOT_AVAILABLE
        NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND KAFKA_STORAGE_ERROR
        REBALANCE_IN_PROGRESS CONCURRENT_TRANSACTIONS UNSTABLE_OFFSET_COMMIT OFFSET_NOT_AVAILABLE
        FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH THROTTLING_QUOTA_EXCEEDED NOT_CONTROLLER
        FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH STALE_BROKER_EPOCH STALE_CTRL_EPOCH
        MEMBER_ID_REQUIRED _ISR_INSUFF _OUTDATED _PARTIAL _UNDERFLOW _INTR _FAIL
        _BAD_MSG _BAD_COMPRESSION INVALID_MSG UNKNOWN _UNKNOWN_PARTITION
    """,
    AbortTransaction: "TRANSACTION_ABORTABLE INVALID_TXN_STATE",
    Fenced: """
        _FENCED PRODUCER_FENCED INVALID_PRODUCER_EPOCH INVALID_PRODUCER_ID_MAPPING
        UNKNOWN_PRODUCER_ID TRANSACTION_COORDINATOR_FENCED OUT_OF_ORDER_SEQUENCE_NUMBER
        UNKNOWN_MEMBER_ID _ASSIGNMENT_LOST
        _MAX_POLL_EXCEEDED FENCED_MEMBER_EPOCH STALE_MEMBER_EPOCH _STATE _FATAL
    """,
    StaleGeneration: "ILLEGAL_GENERATION",
    OutcomeUnknown: "_MSG_TIMED_OUT _PURGE_QUEUE _PURGE_INFLIGHT _DESTROY _GAPLESS_GUARANTEE",
    Rebuild: """
        OFFSET_OUT_OF_RANGE _AUTO_OFFSET_RESET _LOG_TRUNCATION UNKNOWN_TOPIC_ID
        INCONSISTENT_TOPIC_ID
    """,
    RecordRefused: """
        MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE INVALID_RECORD INVALID_TIMESTAMP
        OFFSET_METADATA_TOO_LARGE
    """,
    Die: """
        FENCED_INSTANCE_ID UNRELEASED_INSTANCE_ID TOPIC_AUTHORIZATION_FAILED
        GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED
        TRANSACTIONAL_ID_AUTHORIZATION_FAILED SASL_AUTHENTICATION_FAILED _AUTHENTICATION _SSL
        UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE SECURITY_DISABLED UNSUPPORTED_VERSION
        _UNSUPPORTED_FEATURE UNSUPPORTED_FOR_MESSAGE_FORMAT UNSUPPORTED_COMPRESSION_TYPE
        UNKNOWN_TOPIC_OR_PART _UNKNOWN_TOPIC TOPIC_EXCEPTION INVALID_CONFIG
        INVALID_REQUEST INVALID_GROUP_ID INVALID_SESSION_TIMEOUT INVALID_TRANSACTION_TIMEOUT
        INCONSISTENT_GROUP_PROTOCOL GROUP_MAX_SIZE_REACHED POLICY_VIOLATION _INVALID_ARG
        _NOT_CONFIGURED _NOT_IMPLEMENTED _CRIT_SYS_RESOURCE _FS
    """,
}
KINDS = {name: kind for kind, names in _BY_KIND.items() for name in names.split()}


def translate(
    error: KafkaError,
    doing: str,
    *,
    on_timeout: type[BrokerError] = BrokerUnreachable,
    topic: str | None = None,
    partition: int | None = None,
    offset: int | None = None,
) -> BrokerError:
    """What the caller is to do about a client's error. `doing` completes 'could not …'."""
    kind = _kind(error, on_timeout)
    reason = f"could not {doing}: {error.str()}"
    return kind(reason, code=error.name(), topic=topic, partition=partition, offset=offset)


@contextmanager
def translating(doing: str, *, on_timeout: type[BrokerError] = BrokerUnreachable) -> Iterator[None]:
    """Surrounds calls of the client; a `KafkaException` leaves as what `translate` makes of it.

    So does one inside a `SystemError`: a fatal error is raised while the client goes on calling
    back, and Python objects to a callback that runs with an exception pending.
    """
    try:
        yield
    except KafkaException as exception:
        raise_translated(exception, doing, on_timeout=on_timeout)
    except SystemError as exception:
        if not isinstance(exception.__cause__, KafkaException):
            raise
        raise_translated(exception.__cause__, doing, on_timeout=on_timeout)


def raise_translated(
    exception: KafkaException,
    doing: str,
    *,
    on_timeout: type[BrokerError] = BrokerUnreachable,
    topic: str | None = None,
) -> NoReturn:
    """For calls too frequent for a context manager."""
    cause = exception.args[0]
    assert isinstance(cause, KafkaError)
    raise translate(cause, doing, on_timeout=on_timeout, topic=topic) from exception


def _kind(error: KafkaError, on_timeout: type[BrokerError]) -> type[BrokerError]:
    name = error.name()
    if name in TIMEOUTS:
        return on_timeout
    kind = KINDS.get(name)
    if kind is not None and issubclass(kind, (Die, Fenced, Rebuild)):
        return kind
    if error.fatal():
        return Fenced
    if error.txn_requires_abort():
        return AbortTransaction
    return kind or (Retry if error.retriable() else Die)
