"""`make soak`: simulations until one ends badly. `SEED=n`: this one alone, told step by step."""

import os
import sys
from itertools import count
from random import SystemRandom

from tests.simulation.story import Story, quietly, silent
from tests.simulation.verdict import verdict

TELL_EVERY = 50


def judged(seed: int, *, aloud: bool) -> list[str]:
    """What is wrong with a story."""
    with quietly():
        story = Story(seed, print if aloud else silent)
        story.play()
        return list(verdict(story))


def soak(seed: int | None) -> int:
    """Until something is wrong or the user interrupts; the exit code."""
    first = SystemRandom().randrange(1 << 32) if seed is None else seed
    for number in count() if seed is None else range(1):
        wrong = judged(first + number, aloud=seed is not None)
        if wrong:
            print(f"make soak SEED={first + number}", *wrong, sep="\n")
            return 1
        if (number + 1) % TELL_EVERY == 0:
            print(f"{number + 1} simulations, from seed {first} on: all is well", flush=True)
    print("all is well")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(soak(int(os.environ["SEED"]) if os.environ.get("SEED") else None))
    except KeyboardInterrupt:
        sys.exit(130)
