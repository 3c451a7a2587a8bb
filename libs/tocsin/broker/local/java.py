"""Kafka as a Java process, its jars resolved once by Maven into the user's cache."""

import base64
import fcntl
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tocsin.broker.local.commands import answers, must
from tocsin.broker.local.errors import Unusable
from tocsin.broker.local.node import Node
from tocsin.resources import resource_path

OLDEST_JAVA = 17

HEAP = ("-Xms256m", "-Xmx1g")
TUNING = ("-XX:+UseSerialGC",)
"""For few cores: no collector threads."""
QUICK = ("-XX:TieredStopAtLevel=1",)
"""For a broker that lives for minutes: without the second compiler, whose code is quicker by a
quarter once it is there."""


@dataclass(frozen=True, slots=True)
class Java:
    """Runs `kafka.Kafka` from a folder of jars."""

    java: str
    jars: Path
    bind_host: str = "127.0.0.1"

    def format(self, node: Node) -> None:
        tool = ("kafka.tools.StorageTool", "format", "-t", new_cluster_id())
        must(
            [*self._jvm(node, QUICK), *tool, "-c", str(node.configuration)],
            "format Kafka's data folder",
        )

    def command(self, node: Node) -> list[str]:
        options = () if node.is_kept else QUICK
        return [*self._jvm(node, options), "kafka.Kafka", str(node.configuration)]

    def removal(self, node: Node) -> list[str]:
        return []

    def _jvm(self, node: Node, options: Iterable[str]) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={node.logging}"
        return [self.java, *HEAP, *TUNING, *options, logging, "-cp", f"{self.jars}/*"]


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Java and Kafka's jars; the first time Maven fetches them, which may take a minute.

    Raises Unusable.
    """
    java = _java_program(environ)
    jars = cache_folder(environ) / f"kafka-{kafka_version()}-{_pom_digest()}"
    if not jars.is_dir():
        _resolve(jars, environ)
    return Java(java, jars)


def kafka_version() -> str:
    """The version that `ops/kafka/pom.xml` names, the only place that does."""
    found = re.search(r"<kafka\.version>([^<]+)<", _pom().read_text("utf-8"))
    if found is None:
        raise ValueError(f"{_pom()} names no kafka.version")
    return found[1]


def new_cluster_id() -> str:
    """A random id as StorageTool takes it: URL-safe base64 of 16 bytes, no leading dash."""
    text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return text if not text.startswith("-") else new_cluster_id()


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CACHE_HOME/tocsin`, by default `~/.cache/tocsin`."""
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tocsin"


def _java_program(environ: Mapping[str, str]) -> str:
    home = environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    printed = answers([java, "-version"], timeout_s=20)
    if printed is None:
        raise Unusable("no Java")
    found = re.search(r'version "(?:1\.)?(\d+)', printed)
    if found is None or int(found[1]) < OLDEST_JAVA:
        raise Unusable(f"Java {found[1] if found else 'of unknown version'} is too old")
    return java


def _pom() -> Path:
    return resource_path("ops/kafka") / "pom.xml"


def _pom_digest() -> str:
    return hashlib.sha256(_pom().read_bytes()).hexdigest()[:8]


def _resolve(jars: Path, environ: Mapping[str, str]) -> None:
    """Fill `jars` in one step: it is there whole or not at all, whoever else is at it."""
    maven = shutil.which("mvn", path=environ.get("PATH"))
    if maven is None:
        raise Unusable("Java without Maven")
    jars.parent.mkdir(parents=True, exist_ok=True)
    with _alone(jars.with_name(f"{jars.name}.lock")):
        if jars.is_dir():
            return
        partial = jars.with_name(f"{jars.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        goal = ("dependency:copy-dependencies", f"-DoutputDirectory={partial}")
        must([maven, "-q", "-B", "-f", str(_pom()), *goal], "fetch Kafka's jars with Maven")
        partial.rename(jars)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold an exclusive lock between processes; the kernel frees it when its holder dies."""
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
