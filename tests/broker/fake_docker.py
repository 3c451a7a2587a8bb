"""Stands in for the `docker` command: a container is a Java process of its own.

As with the real one, the container outlives a killed client, a signal to the client is passed
on, and only what is mounted, published and set in the environment is the container's business.
Containers are noted in the folder `FAKE_DOCKER`, a file of the container's name with its pid.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tocsin.broker.local.java import find_java

CONTAINERS = Path(os.environ["FAKE_DOCKER"])
MAIN_CLASSES = {
    "/opt/kafka/bin/kafka-storage.sh": "kafka.tools.StorageTool",
    "/opt/kafka/bin/kafka-server-start.sh": "kafka.Kafka",
}


def run(words: list[str]) -> int:
    image = next(i for i, word in enumerate(words) if not word.startswith("--"))
    options = [word.removeprefix("--").partition("=") for word in words[:image]]
    single = {name: value for name, _, value in options}
    environ = dict(value.split("=", 1) for name, _, value in options if name == "env")
    java = find_java()
    flags = f"{environ['KAFKA_HEAP_OPTS']} {environ['KAFKA_LOG4J_OPTS']}".split()
    program = [java.java, *flags, "-cp", f"{java.jars}/*", MAIN_CLASSES[single["entrypoint"]]]
    container = subprocess.Popen([*program, *words[image + 1 :]], start_new_session=True)
    note = CONTAINERS / single["name"]
    note.write_text(str(container.pid))
    signal.signal(signal.SIGTERM, lambda number, _: container.send_signal(number))
    code = container.wait()
    note.unlink(missing_ok=True)
    return code


def remove(name: str) -> int:
    note = CONTAINERS / name
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(note.read_text()), signal.SIGKILL)
    note.unlink(missing_ok=True)
    return 0


def main(words: list[str]) -> int:
    match words:
        case ["run", "--rm", *rest]:
            return run(rest)
        case ["rm", "--force", name]:
            return remove(name)
        case ["version", *_] | ["image", "inspect", _]:
            return 0
        case _:
            return 125


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
