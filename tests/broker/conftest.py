"""Every test that takes `world` runs twice: in memory, and on a real Kafka."""

from collections.abc import Iterator

import pytest

from tests.broker.worlds import World, kafka_world, memory_world, opened


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.kafka)])
def world(request: pytest.FixtureRequest, prefix: str) -> Iterator[World]:
    if request.param == "memory":
        made = memory_world(prefix)
    else:
        made = kafka_world(request.getfixturevalue("broker").bootstrap, prefix)
    with opened(made) as world:
        yield world
