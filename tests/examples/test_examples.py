"""The examples in other languages write what the scheduler reads, into the right partition."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.test_gateway import make_topics
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.local import BrokerAddress
from tocsin.broker.local.errors import Unusable
from tocsin.broker.local.java import Java, find_java
from tocsin.broker.port import Record, TopicPartition
from tocsin.broker.reading import read_to_end
from tocsin.model.keys import JobKey
from tocsin.wire.commands import decode_job_command, decode_signal
from tocsin.wire.headers import read_condition
from tocsin.wire.partitions import partition_of
from tocsin.wire.topics import Topics

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

EXAMPLES = Path(__file__).parents[2] / "examples"
JOB_IDS = ("hello", "daily-report", "a.b_c")
PARTITIONS = 2


@pytest.fixture
def topics(broker: BrokerAddress, prefix: str) -> Topics:
    return make_topics(broker.bootstrap, prefix)


@pytest.fixture(scope="session")
def java() -> Java:
    try:
        return find_java()
    except Unusable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def trigger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Go example, built."""
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    folder = EXAMPLES / "go"
    fetched = subprocess.run(["go", "mod", "download"], cwd=folder, check=False)
    if fetched.returncode != 0:
        pytest.skip("the modules of the Go example cannot be fetched here")
    program = tmp_path_factory.mktemp("go") / "trigger"
    subprocess.run(["go", "build", "-o", program, "."], cwd=folder, check=True)
    return program


def written(bootstrap: str, topic: str) -> list[Record]:
    reader = KafkaCluster(bootstrap).log_reader()
    try:
        places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        batches = read_to_end(reader, dict.fromkeys(places, 0), timeout=60.0)
        return [record for batch in batches for record in batch]
    finally:
        reader.close()


def test_the_java_example_puts_a_job(broker: BrokerAddress, topics: Topics, java: Java) -> None:
    program = [java.java, "-cp", f"{java.jars}/*", str(EXAMPLES / "java" / "PutJob.java")]
    for job_id in JOB_IDS:
        arguments = [broker.bootstrap, f"default/{job_id}", topics.prefix]
        said = subprocess.run([*program, *arguments], check=True, capture_output=True, text=True)
        assert said.stdout.startswith(f"default/{job_id} revision ")
    records = written(broker.bootstrap, topics.jobs)

    for record in records:
        key = JobKey("default", (record.key or b"").decode().removeprefix("default/"))
        job = decode_job_command(key, record.value or b"")
        assert (job.owner, job.payload) == ("java", '{"greeting":"Grüße"}'.encode())
        assert record.partition == partition_of(record.key or b"", PARTITIONS)
        assert read_condition(record.headers) == "none"
    assert len(records) == len(JOB_IDS)


def test_the_go_example_triggers_a_job(
    broker: BrokerAddress, topics: Topics, trigger: Path
) -> None:
    for job_id in JOB_IDS:
        arguments = [broker.bootstrap, f"default/{job_id}", topics.prefix]
        subprocess.run([trigger, *arguments], check=True, stdout=subprocess.DEVNULL)
    records = written(broker.bootstrap, topics.signals)

    for record in records:
        signal = decode_signal(record.value or b"")
        assert (signal.signal, signal.payload) == ("trigger", '{"greeting":"Grüße"}'.encode())
        assert record.partition == partition_of(record.key or b"", PARTITIONS)
    assert len(records) == len(JOB_IDS)
