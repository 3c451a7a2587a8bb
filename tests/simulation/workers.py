"""Workers: they take runs and say something, at once or late, once or twice, or nothing at all."""

from functools import partial

import msgspec

from tests.scheduler.nodes import TOPICS, Town
from tests.scheduler.outcomes import outcome_of
from tests.simulation.agenda import Agenda
from tests.simulation.chance import Chance
from tocsin.broker.port import TopicPartition
from tocsin.model.jobs import PRIORITIES
from tocsin.model.runs import Run
from tocsin.wire.codec import CANCEL, RUN

NAMES = ("w1", "w2", "w3")
BEAT_MS = 20_000
LATER_MS = (0, 0, 100, 900, 3_000, 9_000, 30_000, 70_000)
"""How long after the run was taken a worker says something, and how late that arrives."""

Words = tuple[str, ...]
LIVES: tuple[Words, ...] = (
    ("succeeded",),
    ("succeeded",),
    ("succeeded",),
    ("failed",),
    ("started", "succeeded"),
    ("started", "heartbeat", "heartbeat", "succeeded"),
    ("started", "failed"),
    ("started",),
    ("started", "declined"),
    ("declined",),
    ("sent away",),
    ("expired",),
    ("failed", "started", "succeeded"),
    (),
)
"""What becomes of an attempt, word by word; the last is a worker that dies with it, unheard. Sent
away: declined, and to come again later."""


class Workers:
    """Take every run that is committed. `are_sound`: from now on all of them succeed at once."""

    def __init__(self, town: Town, agenda: Agenda, chance: Chance) -> None:
        self.are_sound = False
        self._town = town
        self._agenda = agenda
        self._chance = chance
        self._positions: dict[TopicPartition, int] = {}
        self._stopped: set[str] = set()

    def take(self) -> None:
        """What has come since the last time."""
        for record in self._new(TOPICS.cancels):
            self._stopped.add(CANCEL.decode(record or b"").run_id)
        for priority in PRIORITIES:
            for value in self._new(TOPICS.runs(priority)):
                self._take_one(RUN.decode(value or b""))

    def _new(self, topic: str) -> list[bytes | None]:
        found = []
        for number in range(self._town.cluster.topics([topic], 1.0)[topic].partitions):
            place = TopicPartition(topic, number)
            since = self._positions.get(place, 0)
            records = self._town.cluster.records(topic, number, since=since)
            if records:
                self._positions[place] = records[-1].offset + 1
            found += [record.value for record in records]
        return found

    def _take_one(self, run: Run) -> None:
        words: Words = ("succeeded",) if self.are_sound else self._chance.pick(LIVES)
        worker = self._chance.pick(NAMES)
        taken = at = self._town.clock.now_ms()
        for word in words:
            at += BEAT_MS if word == "heartbeat" else self._later()
            self._agenda.at(at, partial(self._say, run, word, worker, taken))
            if self._chance.one_in(6) and not self.are_sound:
                self._agenda.at(at + self._later(), partial(self._say, run, word, worker, taken))

    def _later(self) -> int:
        return 0 if self.are_sound else self._chance.pick(LATER_MS)

    def _say(self, run: Run, word: str, worker: str, taken: int) -> None:
        """Of a run that was taken then. A worker that was told to stop may say that it has."""
        if word in ("heartbeat", "succeeded") and run.run_id in self._stopped:
            word = self._chance.pick([word, "cancelled"])
        away = {"code": "saturated", "retry_after_ms": 3_000} if word == "sent away" else {}
        kind = "declined" if away else word
        outcome = outcome_of(run, kind, self._town.clock.now_ms(), worker, **away)
        if outcome.started_time is not None:
            outcome = msgspec.structs.replace(outcome, started_time=taken)
        self._town.say(outcome)
