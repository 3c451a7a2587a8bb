"""Kafka as a container of the image `apache/kafka`, in the foreground of a `docker run`."""

import os
from dataclasses import dataclass

from tocsin.broker.local.commands import answers, must
from tocsin.broker.local.errors import LocalBrokerError, Unusable
from tocsin.broker.local.java import HEAP, TUNING, kafka_version, new_cluster_id
from tocsin.broker.local.node import Node


@dataclass(frozen=True, slots=True)
class Docker:
    """Runs the image's own scripts over the node's folder, mounted at the same path."""

    image: str
    bind_host: str = "0.0.0.0"  # noqa: S104 — inside the container; published on 127.0.0.1 only

    def format(self, node: Node) -> None:
        tool = ("format", "-t", new_cluster_id(), "-c", str(node.configuration))
        must(self._run(node, "kafka-storage.sh", *tool), "format Kafka's data folder")

    def command(self, node: Node) -> list[str]:
        return self._run(node, "kafka-server-start.sh", str(node.configuration))

    def removal(self, node: Node) -> list[str]:
        return ["docker", "rm", "--force", _container(node)]

    def _run(self, node: Node, script: str, *arguments: str) -> list[str]:
        environment = {
            "KAFKA_HEAP_OPTS": " ".join(HEAP),
            "KAFKA_JVM_PERFORMANCE_OPTS": " ".join(TUNING),
            "KAFKA_LOG4J_OPTS": f"-Dlog4j2.configurationFile={node.logging}",
            "LOG_DIR": str(node.folder / "logs"),
        }
        return [
            "docker",
            "run",
            "--rm",
            f"--name={_container(node)}",
            f"--user={os.getuid()}:{os.getgid()}",
            f"--publish=127.0.0.1:{node.port}:{node.port}",
            f"--volume={node.folder}:{node.folder}",
            *(f"--env={name}={value}" for name, value in environment.items()),
            f"--entrypoint=/opt/kafka/bin/{script}",
            self.image,
            *arguments,
        ]


def find_docker() -> Docker:
    """A daemon that answers and has, or can fetch, the image. Raises Unusable."""
    if answers(["docker", "version", "--format", "{{.Server.Version}}"], timeout_s=10) is None:
        raise Unusable("no Docker daemon answers")
    image = f"apache/kafka:{kafka_version()}"
    if answers(["docker", "image", "inspect", image], timeout_s=30) is None:
        try:
            must(["docker", "pull", "--quiet", image], f"pull {image}")
        except LocalBrokerError as error:
            raise Unusable(str(error)) from error
    return Docker(image)


def _container(node: Node) -> str:
    return f"tocsin-kafka-{node.port}"
