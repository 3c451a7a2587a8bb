"""What a process tells about itself: for its readiness, `/status` and the gauges."""

from collections.abc import Collection, Mapping

from tocsin.broker.port import TopicPartition
from tocsin.metrics import Metrics
from tocsin_scheduler.core.place import instant_of
from tocsin_scheduler.shell.live import Live
from tocsin_scheduler.shell.loop import Loop
from tocsin_scheduler.shell.ownership import Phase, Tenure


class StatusBoard:
    """Written by the loop's thread, read by any; each reading is of one moment.

    waiting_for: why no loop runs yet; None = it does. stalled: partitions that deliver nothing.
    """

    def __init__(self, node: str, metrics: Metrics) -> None:
        self._metrics = metrics
        self.waiting_for: str | None = "starting"
        self.stalled: Collection[TopicPartition] = ()
        self._status: Mapping[str, object] = {"node": node, "partitions": []}
        self._not_owned: str | None = "no partition is assigned yet"

    @property
    def status(self) -> Mapping[str, object]:
        return self._status

    @property
    def not_ready(self) -> str | None:
        """A sentence why not, or None: every assigned partition is owned, and goes on."""
        return self.waiting_for or self._not_owned or self._standing_still()

    def update(self, loop: Loop, has_joined: bool) -> None:
        """Take down how things stand. Between two steps of the loop."""
        now = loop.clock.now()
        tenures = sorted(loop.tenures, key=lambda tenure: tenure.number)
        self._status = {
            **self._status,
            "time": now,
            "clock_off": loop.clock.is_off,
            "partitions": [_line(tenure, now) for tenure in tenures],
        }
        missing = [t for t in tenures if t.phase is not Phase.OWNED]
        self._not_owned = _sentence(missing) if has_joined else "no partition is assigned yet"
        self._set_gauges(loop, now)

    def _standing_still(self) -> str | None:
        if not self.stalled:
            return None
        told = ", ".join(f"{topic}[{number}]" for topic, number in sorted(self.stalled))
        return f"the brokers have more, and deliver nothing: {told}"

    def _set_gauges(self, loop: Loop, now: int) -> None:
        owned = loop.tenures.owned.values()
        lag = max((lag_ms(live, now) for live in owned), default=0)
        self._metrics.watermark_lag.set(lag / 1000)
        self._metrics.partitions_owned.set(len(owned))
        self._metrics.runs_open.set(sum(live.core.tally.open_runs for live in owned))
        self._metrics.restore_remaining_records.set(loop.acquisition.remaining)


def lag_ms(live: Live, now: int) -> int:
    """How long something has been due that is not accounted yet, as far as is known."""
    if live.goals or live.wake == 0:
        return now - instant_of(live.core.place) if live.core.place else 0
    return 0 if live.wake is None else max(0, now - live.wake)


def _line(tenure: Tenure, now: int) -> Mapping[str, object]:
    live, restore = tenure.live, tenure.restore
    return {
        "partition": tenure.number,
        "phase": tenure.phase.value,
        "watermark_lag_ms": None if live is None else lag_ms(live, now),
        "restoring": 0 if restore is None else restore.remaining,
        "jobs": None if live is None else live.core.tally.jobs,
        "open_runs": None if live is None else live.core.tally.open_runs,
    }


def _sentence(missing: list[Tenure]) -> str | None:
    if not missing:
        return None
    told = ", ".join(f"{tenure.number} {tenure.phase.value}" for tenure in missing)
    return f"not all assigned partitions are owned: {told}"
