"""Partitions that deliver nothing though there is more."""

import logging

import pytest

from tests.scheduler.test_shell_parts import Home
from tocsin.broker.port import TopicPartition
from tocsin.testing import SettableClock
from tocsin_scheduler.shell.progress import STALLED_MS, Progress
from tocsin_scheduler.shell.sources import Sources

ONE, OTHER = TopicPartition("t.jobs", 0), TopicPartition("t.jobs", 1)


class Watching:
    """Looks every five seconds."""

    def __init__(self) -> None:
        self.clock = SettableClock()
        self.progress = Progress(self.clock)

    def look(self, times: int, positions: list[int], ends: list[int]) -> list[TopicPartition]:
        stalled: list[TopicPartition] = []
        for _ in range(times):
            self.clock.advance(5_000)
            places = (ONE, OTHER)
            stalled = self.progress.look(
                dict(zip(places, positions, strict=True)), dict(zip(places, ends, strict=True))
            )
        return stalled


def test_b143_one_that_stands_still_before_more_is_found_after_a_while() -> None:
    watching = Watching()
    assert watching.look(STALLED_MS // 5_000, [7, 9], [8, 9]) == []
    assert watching.look(1, [7, 9], [8, 9]) == [ONE]


def test_one_that_is_at_its_end_is_not_stalled() -> None:
    assert Watching().look(20, [8, 9], [8, 9]) == []


def test_one_that_goes_on_slowly_is_not_stalled() -> None:
    watching = Watching()
    for position in range(20):
        assert watching.look(2, [position, 9], [100, 9]) == []


def test_one_that_goes_on_again_is_not_stalled_any_more(caplog: pytest.LogCaptureFixture) -> None:
    watching = Watching()
    with caplog.at_level(logging.ERROR):
        assert watching.look(10, [7, 3], [8, 5]) == [ONE, OTHER]
        assert watching.look(1, [8, 3], [20, 5]) == [OTHER]
        assert watching.look(7, [8, 5], [20, 5]) == [ONE]
    told = [record.getMessage() for record in caplog.records]
    assert [text.partition(":")[0] for text in told] == ["t.jobs[0]", "t.jobs[1]", "t.jobs[0]"]


def test_b143_a_process_with_a_stalled_partition_is_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its reader gets nothing any more, without an error."""
    home = Home()
    home.board.waiting_for = None
    home.live(3)
    before = home.board.not_ready
    assert before is None
    with monkeypatch.context() as patch:
        patch.setattr(Sources, "poll", lambda *_: [])
        home.town.put("job")
        home.live(STALLED_MS // 1_000 + 10)
        assert "deliver nothing: t.jobs[" in (home.board.not_ready or "")
        assert home.metric('tocsin_alarms_total{action="partition_stalled"}') > 0
    home.live(10)
    assert home.board.not_ready is None
