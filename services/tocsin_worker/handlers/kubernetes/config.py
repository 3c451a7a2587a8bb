"""What a job says about its Job: the configuration of handler `kubernetes`."""

from typing import Literal

import msgspec

from tocsin.model.values import Value


class Limits(Value, frozen=True):
    """None is the namespace's own. `memory`: bytes, or text such as `512m`, as for `container`."""

    memory: int | str | None = None
    cpus: float | None = None


class KubernetesConfig(Value, frozen=True):
    """As it stands in the job. `secret_env`: variable -> `NAME/KEY` of a Kubernetes secret."""

    image: str
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    secret_env: dict[str, str] = msgspec.field(default_factory=dict)
    working_directory: str | None = None
    pull: Literal["missing", "always", "never"] = "missing"
    limits: Limits = Limits()
    namespace: str | None = None
    service_account: str | None = None
