"""What a job says about its container: the configuration of handler `container`."""

from typing import Literal

import msgspec

from tocsin.model.values import Value

Pull = Literal["missing", "always", "never"]


class Limits(Value, frozen=True):
    """None is the engine's own. `memory`: bytes, or text such as `512m`."""

    memory: int | str | None = None
    cpus: float | None = None
    pids: int | None = None


class RegistryAuth(Value, frozen=True):
    """For images that are not public. The password is a reference to a secret."""

    username: str
    password: str


class ContainerConfig(Value, frozen=True):
    """As it stands in the job. `command`, `args`: in place of the image's entry point and of its
    command, as in Kubernetes. `stop_grace`: seconds between SIGTERM and SIGKILL."""

    image: str
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    working_directory: str | None = None
    user: str | None = None
    network: Literal["default", "none"] = "default"
    pull: Pull = "missing"
    registry_auth: RegistryAuth | None = None
    limits: Limits = Limits()
    stop_grace: int = 10
