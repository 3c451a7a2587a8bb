"""Share groups (KIP-932), which this client calls a preview."""

from collections.abc import Collection

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from tocsin.broker.errors import Retry
from tocsin.broker.kafka.clients import make_client
from tocsin.broker.kafka.logs import LOG, PendingErrors
from tocsin.broker.kafka.messages import to_error, to_record
from tocsin.broker.kafka.settings import Conf
from tocsin.broker.kafka.translate import raise_translated, translate, translating
from tocsin.broker.port import Record, RecordPlace

GROUP_RULES = {
    # Else a new group begins at the end of the log, and reads what was aborted.
    "share.auto.offset.reset": "earliest",
    "share.isolation.level": "read_committed",
}
_ACCEPT_SECONDS = 10.0


def prepare_share_group(conf: Conf, group: str, timeout: float) -> None:
    """Set the group's own configuration, which lives on the brokers."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in GROUP_RULES.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    admin = make_client(AdminClient, conf)
    with translating(f"configure the share group {group}"):
        answers = admin.incremental_alter_configs([resource], request_timeout=timeout)
        for answer in answers.values():
            answer.result(timeout)


class KafkaShareConsumer:
    """See `tocsin.broker.port.ShareConsumer`."""

    def __init__(self, conf: Conf, topic: str) -> None:
        """Raises `PropertiesRefused`, also for a property that a share group does not allow."""
        self._errors = PendingErrors()
        self._closed = False
        conf = {**conf, "error_cb": self._errors.error_cb}
        self._consumer = make_client(ck.ShareConsumer, conf)
        with translating("subscribe"):
            self._consumer.subscribe([topic])

    def poll_batch(self, timeout: float) -> list[Record]:
        self._errors.raise_first()
        with translating("read"):
            messages = self._consumer.poll(timeout)
        records = []
        for message in messages:
            if message.error() is None:
                records.append(to_record(message))
            else:
                self._errors.add(to_error(message, "read"))
        if not records:
            self._errors.raise_first()
        return records

    def accept(self, places: Collection[RecordPlace]) -> None:
        for topic, partition, offset in places:
            try:
                self._consumer.acknowledge_offset(topic, partition, offset)
            except ck.IllegalStateException as error:
                extra = {"action": "record_not_held"}
                LOG.warning("%s[%d]@%d: %s", topic, partition, offset, error, extra=extra)
        self._commit()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with translating("leave the group"):
                self._consumer.close()

    def _commit(self) -> None:
        doing = "accept records"
        try:
            answers = self._consumer.commit_sync(_ACCEPT_SECONDS)
        except ck.KafkaException as exception:
            raise_translated(exception, doing)
        for place, refused in answers.items():
            if refused is not None:
                told = translate(refused.args[0], doing)
                raise Retry(told.reason, code=told.code).at(place.topic, place.partition)
