"""A container as the Docker Engine API wants it described."""

from collections.abc import Mapping
from typing import Any

from tocsin.model.handlers.container import memory_bytes
from tocsin_worker.handlers.container.config import ContainerConfig


def container_spec(
    config: ContainerConfig, env: Mapping[str, str], labels: Mapping[str, str]
) -> dict[str, Any]:
    """Standard input is open for one writer; the engine keeps no log: it is read as it comes."""
    spec: dict[str, Any] = {
        "Image": config.image,
        "Entrypoint": config.command,
        "Cmd": config.args,
        "WorkingDir": config.working_directory,
        "User": config.user,
        "Env": [f"{name}={value}" for name, value in env.items()],
        "Labels": dict(labels),
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "HostConfig": _host(config),
    }
    return {name: value for name, value in spec.items() if value is not None}


def _host(config: ContainerConfig) -> dict[str, Any]:
    limits = config.limits
    host: dict[str, Any] = {
        "Memory": None if limits.memory is None else memory_bytes(limits.memory),
        "MemorySwap": None if limits.memory is None else memory_bytes(limits.memory),
        "NanoCpus": None if limits.cpus is None else int(limits.cpus * 1_000_000_000),
        "PidsLimit": limits.pids,
        "NetworkMode": "none" if config.network == "none" else None,
        "LogConfig": {"Type": "none"},
        "SecurityOpt": ["no-new-privileges"],
    }
    return {name: value for name, value in host.items() if value is not None}
