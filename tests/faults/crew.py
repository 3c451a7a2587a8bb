"""The processes of one test."""

import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

from tests.faults.disks import Disk, make_disk
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.ledger import Ledger
from tests.faults.processes import Service, tocsin
from tocsin import clock

FATAL = "tests.faults.fatal_scheduler"
FOREIGN_JOBS = 40
STUBBORN = "tests.faults.stubborn_worker"
STUCK = "tests.faults.stuck_scheduler"


class Crew:
    """Starts schedulers and workers over one installation, and ends them all at last.

    Processes with the same `home` are the same node one after another: what the first left on its
    disk is there for the second.
    """

    def __init__(self, folder: Path, bootstrap: str, prefix: str) -> None:
        self._folder = folder
        self._settings = {"BROKERS": bootstrap, "PREFIX": prefix, "HTTP_ALLOW": "127.0.0.0/8"}
        self._services: list[Service] = []
        self._foreign: Path | None = None
        self._disks: list[Disk] = []

    def scheduler(self, home: str, *arguments: str, **settings: str) -> Service:
        return self._start(home, "scheduler", tocsin("scheduler", *arguments), settings)

    def fatal_scheduler(self, home: str, call: str, number: int, **settings: str) -> Service:
        """One that is killed in that call of the transaction of that number that writes runs."""
        command = [sys.executable, "-m", FATAL]
        return self._start(home, "scheduler", command, settings, {"FATAL": f"{call}:{number}"})

    def stuck_scheduler(self, home: str, stuck_s: float, **settings: str) -> Service:
        """One whose loop stands still for so long when it is told `get_stuck`."""
        command = [sys.executable, "-m", STUCK]
        return self._start(home, "scheduler", command, settings, {"STUCK_S": str(stuck_s)})

    def worker(self, home: str, **settings: str) -> Service:
        return self._start(home, "worker", tocsin("worker"), settings)

    def stubborn_worker(self, home: str, **settings: str) -> Service:
        """One with a handler `stubborn` that lets go of nothing."""
        return self._start(home, "worker", [sys.executable, "-m", STUBBORN], settings)

    def disk(self, home: str) -> Path:
        """Where the local stores of a node are."""
        return self._folder / home

    def own_disk(self, home: str) -> Disk:
        """The disk of a node that has none yet, apart from all others."""
        disk = make_disk(self.disk(home))
        self._disks.append(disk)
        return disk

    def foreign_disk(self) -> Path:
        """The disk of a node that has worked for another installation on the same brokers."""
        if self._foreign is None:
            self._foreign = self._work_elsewhere()
        return self._foreign

    def _work_elsewhere(self) -> Path:
        prefix = f"{self._settings['PREFIX']}-elsewhere"
        with closing(Installation(self._settings["BROKERS"], prefix)) as installation:
            node = self.scheduler("elsewhere", PREFIX=prefix, NODE_ID="elsewhere")
            installation.put(installation.every_second(FOREIGN_JOBS, "allow_all"))
            with closing(Ledger(installation)) as ledger:
                ledger.until_fired(node.until_owning(PARTITIONS), clock.now_ms())
        node.terminate()
        node.exit_code()
        return self.disk("elsewhere")

    def end(self) -> None:
        """End whatever still runs, by its pid; say what each has logged, for a test that fails."""
        for service in self._services:
            service.kill()
        for service in self._services:
            print(f"--- {service.name}, {service.log} ends:\n{service.last_words()}\n")
        for disk in self._disks:
            disk.remove()

    def _start(
        self,
        home: str,
        service: str,
        command: list[str],
        settings: dict[str, str],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> Service:
        name = f"{service} {home} ({len(self._services)})"
        log = self._folder / f"{len(self._services)}-{service}-{home}.log"
        own = {"STATE_DIR": str(self.disk(home)), **settings}
        started = Service(name, command, log, self._settings | own, environment)
        self._services.append(started)
        return started
