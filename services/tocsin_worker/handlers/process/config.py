"""What a job says about its program: the configuration of handler `process`."""

import msgspec

from tocsin.model.values import Value


class ProcessConfig(Value, frozen=True):
    """As it stands in the job. `user` None: the worker's own."""

    argv: tuple[str, ...]
    directory: str | None = None
    user: str | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
