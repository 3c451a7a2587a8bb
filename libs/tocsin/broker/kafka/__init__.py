"""The port over a real Kafka cluster, by confluent-kafka (librdkafka)."""

from tocsin.broker.kafka.cluster import KafkaCluster

__all__ = ["KafkaCluster"]
