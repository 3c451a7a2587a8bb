"""Topic, group and transaction names under one prefix."""

from dataclasses import dataclass

from tocsin.model.jobs import Priority

DEFAULT_POOL = "default"


@dataclass(frozen=True, slots=True)
class Topics:
    """All names of one installation; `prefix` keeps installations apart on one cluster."""

    prefix: str = "tocsin"

    @property
    def jobs(self) -> str:
        return f"{self.prefix}.jobs"

    @property
    def signals(self) -> str:
        return f"{self.prefix}.signals"

    @property
    def outcomes(self) -> str:
        return f"{self.prefix}.outcomes"

    @property
    def state(self) -> str:
        return f"{self.prefix}.state"

    @property
    def events(self) -> str:
        return f"{self.prefix}.events"

    @property
    def dead(self) -> str:
        return f"{self.prefix}.dead"

    @property
    def cancels(self) -> str:
        return f"{self.prefix}.cancels"

    @property
    def workers(self) -> str:
        return f"{self.prefix}.workers"

    @property
    def access(self) -> str:
        return f"{self.prefix}.access"

    @property
    def audit(self) -> str:
        return f"{self.prefix}.audit"

    def runs(self, priority: Priority, pool: str = DEFAULT_POOL) -> str:
        """The topic of a pool's runs of one priority; the default pool's name is left out."""
        middle = "runs" if pool == DEFAULT_POOL else f"runs.{pool}"
        return f"{self.prefix}.{middle}.{priority}"

    @property
    def scheduler_group(self) -> str:
        return f"{self.prefix}.scheduler"

    def worker_group(self, pool: str, priority: Priority) -> str:
        return f"{self.prefix}.workers.{pool}.{priority}"

    def share_group(self, pool: str, priority: Priority) -> str:
        """Another name than the consumer group's: a group is of one kind."""
        return f"{self.worker_group(pool, priority)}.shared"

    def transactional_id(self, node: str, incarnation: str) -> str:
        """A new one for every producer built."""
        return f"{self.prefix}.scheduler.{node}.{incarnation}"
