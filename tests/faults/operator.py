"""What an operator's tools do to the schedulers' consumer group, and to topics."""

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from tests.faults.installation import PARTITIONS
from tests.faults.waiting import until
from tocsin.wire.topics import Topics

REQUEST_S = 30.0


class Operator:
    """The group's offsets can be changed while it has no members."""

    def __init__(self, bootstrap: str, topics: Topics) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._topics = topics

    def group_is_empty(self) -> bool:
        """Static members that were killed stay until their sessions have run out."""
        group = self._topics.scheduler_group
        found = self._admin.describe_consumer_groups([group], request_timeout=REQUEST_S)
        return not found[group].result().members

    def delete_topic(self, topic: str) -> None:
        """As `kafka-topics.sh --delete`; its name is free when this returns."""
        self._admin.delete_topics([topic], request_timeout=REQUEST_S)[topic].result()
        until(lambda: topic not in self._admin.list_topics(timeout=REQUEST_S).topics, "it is gone")

    def delete_offsets(self) -> None:
        """As they are after `offsets.retention.minutes` without a member."""
        group = self._topics.scheduler_group
        done = self._admin.delete_consumer_groups([group], request_timeout=REQUEST_S)
        done[group].result()

    def reset_offsets(self) -> None:
        """`kafka-consumer-groups.sh --reset-offsets --to-earliest`."""
        places = [Place(self._topics.jobs, number, 0) for number in range(PARTITIONS)]
        request = ConsumerGroupTopicPartitions(self._topics.scheduler_group, places)
        done = self._admin.alter_consumer_group_offsets([request], request_timeout=REQUEST_S)
        for future in done.values():
            future.result()
