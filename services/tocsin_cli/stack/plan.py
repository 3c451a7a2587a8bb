"""What an installation in one terminal consists of: names, ports, folders."""

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from tocsin.broker.local.ports import free_port, is_free
from tocsin.settings import Settings

PARTITIONS = 8
REPLICATION = 1

_LOOPBACK = ("127.0.0.0/8", "::1/128")


@dataclass(frozen=True, slots=True)
class Ports:
    """Where everything listens, all at 127.0.0.1."""

    broker: int | None
    gateway: int
    scheduler: int
    worker: int
    receiver: int

    @classmethod
    def free(cls) -> Self:
        """Free ones; the broker chooses its own."""
        chosen = set[int]()
        while len(chosen) < 4:
            chosen.add(free_port())
        return cls(None, *chosen)


FIXED = Ports(broker=9092, gateway=8080, scheduler=9101, worker=9102, receiver=8090)


@dataclass(frozen=True, slots=True)
class Plan:
    """folder: for the logs and the services' data. kafka: for the local Kafka's data; None =
    temporary. prefix: of the topics. keeps_database: whether the gateway takes the database that
    the settings name.
    """

    name: str
    folder: Path
    kafka: Path | None
    ports: Ports
    settings: Settings
    prefix: str
    keeps_database: bool

    def taken_port(self) -> str | None:
        """The first port that is not free: what it is for, and its number."""
        ports = asdict(self.ports)
        if self.settings.brokers is not None:
            del ports["broker"]
        return next(
            (f"{name} {port}" for name, port in ports.items() if port and not is_free(port)), None
        )

    @property
    def gateway_url(self) -> str:
        return f"http://127.0.0.1:{self.ports.gateway}"

    def log(self, service: str) -> Path:
        return self.folder / f"{service}.log"

    def listens_at(self, service: str) -> str:
        ports = {
            "gateway": self.ports.gateway,
            "scheduler": self.ports.scheduler,
            "worker": self.ports.worker,
        }
        return f"127.0.0.1:{ports[service]}"

    def environment(self, service: str, brokers: str, environ: Mapping[str, str]) -> dict[str, str]:
        """`environ` with this installation's settings; empty ones count as left out."""
        ours = {
            "BROKERS": brokers,
            "PREFIX": self.prefix,
            "STATE_DIR": str(self.folder / "state"),
            "NODE_ID": self.name,
            "LISTEN": self.listens_at(service),
            "POOL": "",
            "API_TOKEN": "",
            "HTTP_ALLOW": ",".join([*self.settings.http_allow, *_LOOPBACK]),
        }
        if not self.keeps_database:
            ours["DATABASE_URL"] = ""
        return {**environ, **{f"TOCSIN_{name}": value for name, value in ours.items()}}


def demo_plan(folder: Path, settings: Settings) -> Plan:
    """Free ports and nothing kept. On a cluster that others use, topics of its own."""
    shared = settings.brokers is not None and "prefix" not in settings.model_fields_set
    return Plan(
        name="demo",
        folder=folder,
        kafka=None,
        ports=Ports.free(),
        settings=settings,
        prefix=f"tocsin-demo-{secrets.token_hex(4)}" if shared else settings.prefix,
        keeps_database=False,
    )


def dev_plan(folder: Path, settings: Settings) -> Plan:
    """Fixed ports and everything kept."""
    return Plan(
        name="dev",
        folder=folder,
        kafka=folder / "kafka",
        ports=FIXED,
        settings=settings,
        prefix=settings.prefix,
        keeps_database=True,
    )
