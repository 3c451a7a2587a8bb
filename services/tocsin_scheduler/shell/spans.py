"""Stretches of the log that are read in the background, a slice at a time."""

from collections.abc import Callable
from itertools import groupby
from operator import attrgetter

from tocsin.broker.port import Cluster, LogReader, Record, TopicPartition
from tocsin_scheduler.core.store import StoreDamaged

Feed = Callable[[list[Record]], None]

_place = attrgetter("topic", "partition")


class Span:
    """The records of a partition from `start` up to, not including, `through`.

    `feed` may get records beyond `through`. `left` is the offsets still to come: an upper bound of
    the records, since offsets have holes.
    """

    def __init__(self, place: TopicPartition, start: int, through: int, feed: Feed) -> None:
        self.place = place
        self.start = start
        self.through = through
        self.is_cancelled = False
        self._damage: StoreDamaged | None = None
        self._feed = feed
        self._position = start

    @property
    def done(self) -> bool:
        return self._position >= self.through

    @property
    def left(self) -> int:
        return max(0, self.through - self._position)

    def cancel(self) -> None:
        """Leave the rest unread; `feed` is not called any more."""
        self.is_cancelled = True

    def take(self, records: list[Record]) -> None:
        try:
            self._feed(records)
        except StoreDamaged as error:
            self._damage = error
            self.cancel()
        else:
            self.reached(records[-1].offset + 1)

    def check(self) -> None:
        """Raises the `StoreDamaged` that `feed` has met, after which it was not called again."""
        if self._damage is not None:
            raise self._damage

    def reached(self, offset: int) -> None:
        """All below has been read."""
        self._position = max(self._position, offset)


class SpanReader:
    """Reads spans side by side; its reader is there only while there are any. `taken`: how many
    records it has read.

    A partition is in one span at a time. Reads committed records only: a span ends when the log
    has met its `through`, which waits for transactions that are open below it.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._reader: LogReader | None = None
        self._spans: dict[TopicPartition, Span] = {}
        self.taken = 0

    def __bool__(self) -> bool:
        return bool(self._spans)

    def add(self, span: Span) -> None:
        """An empty span is done at once and not read."""
        if span.done:
            return
        self._reader = self._reader or self._cluster.log_reader()
        self._spans[span.place] = span
        self._reader.assign({span.place: span.start})

    def read(self, max_records: int, timeout: float) -> bool:
        """One slice; whether it was of use. Raises what `LogReader.poll_batch` raises."""
        self._drop_finished()
        if self._reader is None:
            return False
        records = self._reader.poll_batch(max_records, timeout)
        self.taken += len(records)
        records.sort(key=_place)
        for place, group in groupby(records, _place):
            self._spans[TopicPartition(*place)].take(list(group))
        ends = self._reader.take_ends()
        for tp, end in ends.items():
            self._spans[tp].reached(end)
        self._drop_finished()
        return bool(records or ends)

    def close(self) -> None:
        self._spans.clear()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _drop_finished(self) -> None:
        places = [tp for tp, span in self._spans.items() if span.done or span.is_cancelled]
        for place in places:
            del self._spans[place]
        if not self._spans:
            self.close()
        elif self._reader is not None and places:
            self._reader.unassign(places)
