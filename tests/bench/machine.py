"""Where a benchmark ran: no figure means anything without it."""

import json
import platform
from importlib.metadata import version

import psutil

from tocsin import __version__
from tocsin.broker.local.java import kafka_version

_LIBRARIES = (
    "aiohttp",
    "confluent-kafka",
    "fastapi",
    "fastavro",
    "msgspec",
    "rocksdict",
    "sqlalchemy",
    "uvloop",
)


def machine_line(brokers: str | None) -> str:
    """The first line of the output. `brokers`: a cluster that somebody else runs, if any."""
    machine = {
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "load": round(psutil.getloadavg()[0], 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "kafka": f"at {brokers}" if brokers else kafka_version(),
        "tocsin": __version__,
        "versions": {name: version(name) for name in _LIBRARIES},
    }
    return json.dumps({"machine": machine})
