"""Bad moments for a scheduler to be stopped at."""

from time import sleep

from tests.faults.installation import Installation
from tests.faults.processes import Service
from tests.faults.waiting import until
from tocsin import clock

LOOKS = 10
LOOK_EVERY_S = 0.05


def freeze_in_transaction(
    scheduler: Service, partitions: frozenset[int], installation: Installation
) -> int:
    """SIGSTOP it while records of it are in the log and their commit is not; returns when.

    `partitions`: its own. It must be writing events, which nobody else does there: so a
    transaction that is open there is its own. Caught too late, it is woken and watched on.
    """

    def caught() -> int:
        if not installation.open_transactions(partitions):
            return 0
        at = clock.now_ms()
        scheduler.freeze()
        if _stays_open(installation, partitions):
            return at
        scheduler.wake()
        return 0

    return until(caught, f"a transaction of {scheduler.name} that can be interrupted")


def _stays_open(installation: Installation, partitions: frozenset[int]) -> bool:
    """Whether it is more than a commit that was under way already."""
    first = installation.open_transactions(partitions)
    for _ in range(LOOKS):
        sleep(LOOK_EVERY_S)
        if not first or installation.open_transactions(partitions) != first:
            return False
    return True
