"""One Kafka node on this machine: its folder, its ports and its configuration."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from tocsin.broker.local.ports import free_port
from tocsin.resources import resource_path


@dataclass(frozen=True, slots=True)
class Node:
    """Where a node keeps its files and where it listens.

    `folder` is absolute. `properties` are broker settings that win over the template
    `ops/kafka/server.properties`. is_kept: the data outlives the process, which is then likely to
    run for long.
    """

    folder: Path
    port: int
    controller_port: int
    properties: Mapping[str, str] = field(default_factory=dict)
    is_kept: bool = False

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def configuration(self) -> Path:
        return self.folder / "server.properties"

    @property
    def logging(self) -> Path:
        return self.folder / "log4j2.properties"

    @property
    def log(self) -> Path:
        return self.folder / "broker.log"

    @property
    def formatted(self) -> bool:
        """Whether the folder holds a cluster already."""
        return (self.data / "meta.properties").exists()

    def write_configuration(self, bind_host: str) -> None:
        """Lay out the folder; the broker listens on `bind_host` and tells clients 127.0.0.1."""
        self.folder.mkdir(parents=True, exist_ok=True)
        source = resource_path("ops/kafka")
        template = Template((source / "server.properties").read_text("utf-8"))
        text = template.substitute(
            port=self.port,
            controller_port=self.controller_port,
            bind_host=bind_host,
            log_dir=self.data,
        )
        extra = "".join(f"{name}={value}\n" for name, value in self.properties.items())
        self.configuration.write_text(text + extra, "utf-8")
        self.logging.write_bytes((source / "log4j2.properties").read_bytes())

    def last_words(self, lines: int = 8) -> str:
        """The end of the broker's log, for an error message."""
        if not self.log.exists():
            return ""
        with self.log.open(encoding="utf-8", errors="replace") as log:
            return "".join(deque(log, lines)).strip()


def new_node(
    folder: Path, port: int | None, properties: Mapping[str, str], *, is_kept: bool = False
) -> Node:
    """A node in `folder`, on `port` or else on a free one."""
    return Node(folder.absolute(), port or free_port(), free_port(), properties, is_kept)
