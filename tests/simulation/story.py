"""One simulation from its seed to its verdict."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.scheduler.nodes import Town
from tests.simulation.agenda import Agenda
from tests.simulation.chance import Chance
from tests.simulation.mischief import Mischief
from tests.simulation.users import Users
from tests.simulation.workers import Workers

STRIDES = 120
STRIDE_MS = (100, 500, 1_000, 1_000, 2_000, 5_000, 11_000)
ROUNDS = 3
TRANSACTION_LASTS_MS = 10_000
CALM_MS = 300_000
"""Longer than any lease, queue time-out, retry and jitter of the simulated jobs."""

Tell = Callable[[str], None]


def silent(_: str) -> None:
    """Tell nobody."""


class Story:
    """`town`: what it leaves. The same seed tells the same story."""

    def __init__(self, seed: int, tell: Tell = silent) -> None:
        self.town = Town()
        self._chance = Chance(seed)
        self._agenda = Agenda()
        self._tell = tell
        self._expires = 0
        self.users = Users(self.town, self._chance)
        self._workers = Workers(self.town, self._agenda, self._chance)
        self._mischief = Mischief(self.town, self._agenda, self._chance)

    def play(self) -> None:
        """Trouble, then calm, then a clean end."""
        self.town.node("a")
        for number in range(STRIDES):
            if self._chance.one_in(2):
                self.users.act()
            if self._chance.one_in(3):
                self._tell(f"{number}: {self._mischief.act()}")
            self._pass(self._chance.pick(STRIDE_MS))
        self._mischief.calm()
        self._workers.are_sound = True
        for _ in range(CALM_MS // 5_000):
            self._pass(5_000)
        self.town.settle()

    def end(self) -> None:
        """All processes stop."""
        for node in list(self.town.nodes):
            self.town.stop(node)

    def _pass(self, ms: int) -> None:
        self.town.clock.advance(ms)
        now = self.town.clock.now_ms()
        if now >= self._expires:
            self.town.cluster.expire_transactions()
            self._expires = now + TRANSACTION_LASTS_MS
        for _ in range(ROUNDS):
            for node in self._chance.shuffled(self.town.nodes):
                if node in self.town.nodes:
                    self._mischief.step(node)
            self._tick()
            self._workers.take()
            self._tick()

    def _tick(self) -> None:
        """What follows from something comes later than it."""
        self.town.clock.advance(1)
        self._agenda.run_until(self.town.clock.now_ms())
        self.town.clock.advance(1)


@contextmanager
def quietly() -> Iterator[None]:
    """Schedulers that are mistreated have much to complain about."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
