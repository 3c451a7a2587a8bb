"""Kafka's own console producer writes a job, as the README shows it; a scheduler fires it."""

import subprocess
from pathlib import Path

import pytest

from tests.integration.scheduler_process import PATIENCE, SchedulerProcess
from tests.integration.test_gateway import make_topics
from tests.integration.waiting import eventually
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.local import BrokerAddress
from tocsin.broker.local.errors import Unusable
from tocsin.broker.local.java import find_java
from tocsin.broker.port import TopicPartition
from tocsin.broker.reading import read_to_end
from tocsin.wire.codec import RUN
from tocsin.wire.topics import Topics

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

PROGRAM = "org.apache.kafka.tools.ConsoleProducer"
LINES = """\
default/typed|{"schedule": {"every": 1}, "handler": {"type": "noop"}}
default/wrong|{"schedule": {"cron": "61 * * * *"}, "handler": {"type": "noop"}}
"""


def typed(broker: BrokerAddress, topics: Topics) -> None:
    """The lines, through a real console producer with its default partitioner."""
    try:
        java = find_java()
    except Unusable as error:
        pytest.skip(str(error))
    reading = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=|"]
    place = ["--bootstrap-server", broker.bootstrap, "--topic", topics.jobs]
    command = [java.java, "-cp", f"{java.jars}/*", PROGRAM, *place, *reading]
    done = subprocess.run(command, input=LINES, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def fired(broker: BrokerAddress, topics: Topics) -> set[str]:
    """Ids of the jobs that have runs."""
    topic = topics.runs("normal")
    cluster = KafkaCluster(broker.bootstrap)
    count = cluster.topics([topic], PATIENCE)[topic].partitions
    reader = cluster.log_reader()
    try:
        places = {TopicPartition(topic, number): 0 for number in range(count)}
        batches = read_to_end(reader, places, timeout=PATIENCE)
        return {RUN.decode(record.value or b"").job_id for batch in batches for record in batch}
    finally:
        reader.close()


def test_a_job_that_was_typed_into_the_console_producer_fires(
    broker: BrokerAddress, prefix: str, tmp_path: Path
) -> None:
    topics = make_topics(broker.bootstrap, prefix)
    with SchedulerProcess(broker.bootstrap, prefix, tmp_path) as scheduler:
        typed(broker, topics)
        eventually(lambda: fired(broker, topics) == {"typed"}, PATIENCE)
        assert scheduler.stop() == 0
