"""A storm over a real broker: `make storm` lets it rage until it is interrupted or wins."""

import os
from random import SystemRandom

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.remembering import judge_stores
from tests.faults.storm import Storm
from tocsin import clock
from tocsin.broker.local import LocalBroker

RAGES_S = float(os.environ.get("STORM_SECONDS", "45"))
BURST = int(os.environ.get("STORM_BURST", "10000"))
ROUND_S = 90.0
"""After which the storm is judged, however long it rages."""

pytestmark = [
    pytest.mark.faults,
    pytest.mark.kafka,
    pytest.mark.timeout(RAGES_S * 3 + 600),
    # No two storms are alike, and a red build has to be about the change.
    pytest.mark.skipif(
        bool(os.environ.get("CI")) and "STORM_SECONDS" not in os.environ,
        reason="no two storms are alike: make storm",
    ),
]


@pytest.fixture
def bootstrap(own_broker: LocalBroker) -> str:
    return own_broker.bootstrap


def test_whatever_happens_every_occurrence_is_accounted_once(
    own_broker: LocalBroker, crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    seed = int(os.environ.get("SEED", 0)) or SystemRandom().randrange(1 << 32)
    print(f"make storm SEED={seed}")
    storm = Storm(crew, installation, own_broker, seed, BURST)
    storm.calm()
    installation.put(installation.mixed_load())
    end = clock.monotonic_ms() + RAGES_S * 1_000
    while clock.monotonic_ms() < end:
        until = min(end, clock.monotonic_ms() + ROUND_S * 1_000)
        while clock.monotonic_ms() < until:
            storm.rage()
            ledger.read()
        ledger.until_fired(storm.calm(), clock.now_ms())
        judge(installation, ledger, clock.now_ms())
    judge_stores(installation, storm.end())
