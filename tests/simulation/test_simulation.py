"""Whatever goes wrong, and in whatever order: nothing lost, nothing doubled, nothing stuck."""

import os
import time
from hashlib import blake2b
from random import SystemRandom

from tests.scheduler.nodes import TOPICS, Town
from tests.simulation.story import Story, quietly
from tests.simulation.verdict import verdict
from tocsin.model.jobs import PRIORITIES

CPU_S = 30.0
"""What this may take of a processor; `make soak` goes on for as long as it is let."""


def first_seed() -> int:
    """New ones in every run, except where a red build has to be about the change."""
    return 1 if os.environ.get("CI") else SystemRandom().randrange(1 << 32)


def digest(town: Town) -> str:
    """Of all that is in the log."""
    found = blake2b()
    for topic in (TOPICS.jobs, TOPICS.state, TOPICS.events, *map(TOPICS.runs, PRIORITIES)):
        for record in town.records(topic):
            found.update(repr(record).encode())
    return found.hexdigest()


def test_a_cluster_that_is_mistreated_accounts_each_occurrence_once() -> None:
    seed = first_seed()
    until = time.process_time() + CPU_S
    while time.process_time() < until:
        with quietly():
            story = Story(seed)
            story.play()
            wrong = list(verdict(story))
        assert not wrong, "\n".join([f"make soak SEED={seed}", *wrong])
        seed += 1


def test_the_same_seed_tells_the_same_story() -> None:
    with quietly():
        stories = [Story(4) for _ in range(2)]
        for story in stories:
            story.play()
    one, other = (digest(story.town) for story in stories)
    assert one == other
