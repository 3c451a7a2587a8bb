"""Users: they write jobs, edit and delete them, and ask for runs."""

import msgspec

from tests.scheduler.documents import OVERLAPS, any_document
from tests.scheduler.nodes import TOPICS, Town
from tests.simulation.chance import Chance
from tocsin.model.keys import JobKey, parse_job_key
from tocsin.timetable.instants import format_instant
from tocsin.wire.headers import condition_header

STEADY = b"default/steady"
"""A job that is written once and triggered again and again."""

QUEUE_TIMEOUT_S = 30
KEYS = tuple(
    f"{tenant}/{overlap}-{n}" for tenant in ("a", "b") for overlap in OVERLAPS for n in "1"
)
"""The overlap of a job never changes, so that its runs can be judged by it."""


def overlap_of(key: JobKey) -> str:
    """The policy of a job, by its name."""
    return key.job_id.removesuffix("-1")


class Users:
    """`triggers`: the ids of the signals that asked for a run of the steady job."""

    def __init__(self, town: Town, chance: Chance) -> None:
        self.triggers: list[str] = []
        self._town = town
        self._chance = chance
        schedule = {"cron": "0 0 1 1 *"}
        self._write(STEADY, {**_BASE, "schedule": schedule, "overlap": "allow_all"})

    def act(self) -> None:
        """One command of any kind."""
        kind = self._chance.pick(["put"] * 6 + ["delete", "trigger", "trigger", "backfill", "bad"])
        key = self._chance.pick(KEYS).encode()
        if kind == "put":
            self._write(key, self._document(key.decode()))
        elif kind == "delete":
            self._write(key, None)
        elif kind == "trigger":
            self.triggers.append(self._signal(STEADY, "trigger"))
        elif kind == "backfill":
            now = self._town.clock.now_ms()
            span = {"from": format_instant(now - 60_000), "to": format_instant(now + 30_000)}
            self._signal(key, "backfill", **span)
        else:
            self._town.producer.produce(TOPICS.jobs, key, b'{"schedule": {}}')

    def _document(self, key: str) -> dict[str, object]:
        document = any_document(self._chance.pick, self._town.clock.now_ms())
        return document | {"overlap": overlap_of(parse_job_key(key)), "pool": "default"} | _BASE

    def _write(self, key: bytes, document: dict[str, object] | None) -> None:
        value = None if document is None else msgspec.json.encode(document)
        headers = [condition_header(self._chance.pick(range(4)))] if self._chance.one_in(8) else []
        self._town.producer.produce(TOPICS.jobs, key, value, headers=headers)

    def _signal(self, key: bytes, kind: str, **fields: object) -> str:
        name = f"{self._chance.hexadecimal(8)}-7d7e-7000-8000-{self._chance.hexadecimal(12)}"
        value = {"signal": kind, "signal_id": name, **fields}
        self._town.producer.produce(TOPICS.signals, key, msgspec.json.encode(value))
        return name


_BASE: dict[str, object] = {"handler": {"type": "noop"}, "queue_timeout": QUEUE_TIMEOUT_S}
