"""A real Kafka cluster behind the port."""

from collections.abc import Collection
from concurrent.futures import Future
from typing import TYPE_CHECKING

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient

from tocsin import clock
from tocsin.broker.errors import Retry
from tocsin.broker.kafka.clients import make_client
from tocsin.broker.kafka.members import KafkaGroupConsumer, KafkaGroupMember
from tocsin.broker.kafka.producers import KafkaProducer, KafkaTransactionalProducer
from tocsin.broker.kafka.readers import KafkaLogReader
from tocsin.broker.kafka.settings import ClientSettings, Properties
from tocsin.broker.kafka.shares import KafkaShareConsumer, prepare_share_group
from tocsin.broker.kafka.translate import translating
from tocsin.broker.port import LINGER_MS, Isolation, TopicInfo

if TYPE_CHECKING:
    from confluent_kafka.admin._topic import TopicDescription

_REQUEST_SECONDS = 10.0

_FIRST_FENCING_S = 0.1
"""The first request makes the brokers abort what is open, which takes them 50 ms to a second, and
is itself refused meanwhile. The client asks again only after 500 ms; a client anew asks at once."""
_FENCING_GROWTH = 1.3
"""Brokers that are slow to answer at all need longer attempts in the end."""

UNKNOWN_TOPIC = ck.KafkaError.UNKNOWN_TOPIC_OR_PART


class KafkaCluster:
    """See `tocsin.broker.port.Cluster`."""

    def __init__(
        self, bootstrap: str, properties: Properties | None = None, *, client_id: str = "tocsin"
    ) -> None:
        """`bootstrap`: host:port, comma-separated. `properties`: the operator's, by
        librdkafka's names (`Settings.kafka`)."""
        self._settings = ClientSettings(bootstrap, properties or {}, client_id)

    def group_member(self, group: str, *, instance_id: str | None = None) -> KafkaGroupMember:
        conf = self._settings.member(group, instance_id, Isolation.UNCOMMITTED)
        return KafkaGroupMember(conf)

    def log_reader(
        self,
        group: str = "",
        *,
        isolation: Isolation = Isolation.COMMITTED,
        is_patient: bool = False,
        min_bytes: int = 1,
    ) -> KafkaLogReader:
        return KafkaLogReader(
            self._settings.reader(group, isolation, is_patient=is_patient, min_bytes=min_bytes)
        )

    def transactional_producer(self, transactional_id: str) -> KafkaTransactionalProducer:
        return KafkaTransactionalProducer(self._settings.transactional(transactional_id))

    def producer(self, *, linger_ms: int = LINGER_MS) -> KafkaProducer:
        return KafkaProducer(self._settings.producer(linger_ms))

    def group_consumer(self, group: str, *, instance_id: str | None = None) -> KafkaGroupConsumer:
        conf = self._settings.member(group, instance_id, Isolation.COMMITTED)
        return KafkaGroupConsumer(conf)

    def share_consumer(self, group: str, topic: str, *, max_records: int) -> KafkaShareConsumer:
        prepare_share_group(self._settings.admin(), group, _REQUEST_SECONDS)
        return KafkaShareConsumer(self._settings.share(group, max_records), topic)

    def fence(self, transactional_id: str, timeout: float) -> None:
        deadline = clock.monotonic_ms() + timeout * 1000
        attempt_s = _FIRST_FENCING_S
        while (left_s := (deadline - clock.monotonic_ms()) / 1000) > attempt_s:
            try:
                self._fence_once(transactional_id, attempt_s)
            except Retry:
                attempt_s *= _FENCING_GROWTH
            else:
                return
        self._fence_once(transactional_id, max(left_s, _FIRST_FENCING_S))

    def _fence_once(self, transactional_id: str, timeout: float) -> None:
        producer = self.transactional_producer(transactional_id)
        try:
            producer.init(timeout)
        finally:
            producer.close()

    def cluster_id(self, timeout: float) -> str:
        with translating(f"ask {self._settings.bootstrap} for the cluster's id"):
            return self._admin().cluster_id(timeout)

    def topics(self, names: Collection[str], timeout: float) -> dict[str, TopicInfo]:
        if not names:
            return {}
        with translating(f"describe topics at {self._settings.bootstrap}"):
            admin = self._admin()
            wanted = ck.TopicCollection(list(names))
            answers = admin.describe_topics(wanted, request_timeout=timeout)
            found = {name: _described(answer) for name, answer in answers.items()}
        return {name: info for name, info in found.items() if info is not None}

    def topic_names(self, timeout: float) -> frozenset[str]:
        with translating(f"list topics at {self._settings.bootstrap}"):
            return frozenset(self._admin().list_topics(timeout=timeout).topics)

    def _admin(self) -> AdminClient:
        return make_client(AdminClient, self._settings.admin())


def _described(answer: "Future[TopicDescription]") -> TopicInfo | None:
    """None for a topic that does not exist."""
    try:
        description = answer.result()
    except ck.KafkaException as exception:
        if exception.args[0].code() == UNKNOWN_TOPIC:
            return None
        raise
    return TopicInfo(str(description.topic_id), len(description.partitions))
