"""Each error of the Kafka client becomes one kind, by what the caller must do."""

import pytest
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
from tocsin.broker.kafka.translate import KINDS, translate, translating


def test_every_name_in_the_table_is_one_that_kafka_knows() -> None:
    known = {KafkaError(code).name() for name, code in vars(KafkaError).items() if name.isupper()}
    assert set(KINDS) <= known


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._FENCED, Fenced),
        (KafkaError.INVALID_PRODUCER_EPOCH, Fenced),
        (KafkaError.ILLEGAL_GENERATION, StaleGeneration),
        (KafkaError.UNKNOWN_MEMBER_ID, Fenced),
        (KafkaError.REBALANCE_IN_PROGRESS, Retry),
        (KafkaError.FENCED_INSTANCE_ID, Die),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, Die),
        (KafkaError.UNSUPPORTED_VERSION, Die),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, Die),
        (KafkaError.OFFSET_OUT_OF_RANGE, Rebuild),
        (KafkaError._AUTO_OFFSET_RESET, Rebuild),
        (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, Retry),
        (KafkaError.NOT_LEADER_FOR_PARTITION, Retry),
        # The client's view of the cluster lacks it, as for a moment after a broker's restart.
        (KafkaError._UNKNOWN_PARTITION, Retry),
        (KafkaError._TRANSPORT, BrokerUnreachable),
        (KafkaError._MSG_TIMED_OUT, OutcomeUnknown),
        (KafkaError.MSG_SIZE_TOO_LARGE, RecordRefused),
    ],
)
def test_an_error_is_of_the_kind_that_says_what_to_do(code: int, kind: type[BrokerError]) -> None:
    assert type(translate(KafkaError(code), "work")) is kind


def test_an_error_that_no_table_knows_goes_by_what_the_client_says_of_it() -> None:
    unheard_of = KafkaError._NOENT
    assert type(translate(KafkaError(unheard_of), "work")) is Die
    assert type(translate(KafkaError(unheard_of, retriable=True), "work")) is Retry
    assert type(translate(KafkaError(unheard_of, fatal=True), "work")) is Fenced
    abortable = KafkaError(unheard_of, txn_requires_abort=True)
    assert type(translate(abortable, "work")) is AbortTransaction


def test_a_retry_inside_a_transaction_means_to_abort_it() -> None:
    error = KafkaError(KafkaError.NOT_COORDINATOR, txn_requires_abort=True)
    assert type(translate(error, "work")) is AbortTransaction


def test_a_time_out_means_what_the_call_says_it_means() -> None:
    error = KafkaError(KafkaError._TIMED_OUT, retriable=True)
    assert type(translate(error, "read")) is BrokerUnreachable
    assert type(translate(error, "commit", on_timeout=OutcomeUnknown)) is OutcomeUnknown


def test_an_error_tells_what_failed_where_and_what_to_do() -> None:
    error = KafkaError(KafkaError.OFFSET_OUT_OF_RANGE, "Broker: Offset out of range")
    translated = translate(error, "read", topic="t", partition=3, offset=7)
    assert str(translated) == (
        "could not read: Broker: Offset out of range (OFFSET_OUT_OF_RANGE) at t[3]@7; "
        "wipe the local store of this partition and replay the log"
    )
    assert str(Die("no such topic").at("t")) == f"no such topic at t; {Die.advice}"


def test_a_fatal_error_that_broke_a_callback_is_still_found() -> None:
    def call_back() -> None:
        fatal = KafkaException(KafkaError(KafkaError._FENCED, fatal=True))
        raise SystemError("returned a result with an exception set") from fatal

    with pytest.raises(Fenced), translating("work"):
        call_back()


def test_other_exceptions_pass_as_they_are() -> None:
    with pytest.raises(SystemError), translating("work"):
        raise SystemError("of somebody else")
