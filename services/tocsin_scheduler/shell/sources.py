"""What the owned partitions read: jobs, signals and outcomes, with one reader for all."""

from collections.abc import Collection

from tocsin.broker.port import GATHERED_BYTES, Cluster, Record, TopicPartition
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.partition import Source
from tocsin_scheduler.shell.live import Live

REQUEST_S = 2.0

Route = tuple[Live, Source]


class Sources:
    """Routes records to partitions. Raises what the reader raises."""

    def __init__(self, cluster: Cluster, topics: Topics) -> None:
        self._reader = cluster.log_reader(topics.scheduler_group, min_bytes=GATHERED_BYTES)
        self._topics = {
            topics.jobs: Source.JOBS,
            topics.signals: Source.SIGNALS,
            topics.outcomes: Source.OUTCOMES,
        }
        self._names = topics
        self.routes: dict[tuple[str, int], Route] = {}

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """Waits for a first record, at most `timeout` seconds."""
        records = self._reader.poll_batch(max_records, timeout)
        self._reader.take_ends()
        return records

    def add(self, live: Live) -> None:
        """Read on from the partition's offsets; also after it was dropped back to earlier ones."""
        places = live.places(self._names)
        self._reader.assign(places)
        self.routes |= {place: (live, self._topics[place.topic]) for place in places}

    def remove(self, number: int) -> None:
        """Read nothing of it any more."""
        places = [place for place in self._places(number) if place in self.routes]
        self._reader.unassign(places)
        for place in places:
            del self.routes[place]

    def set_goals(self, lives: Collection[Live]) -> None:
        """The present ends are what these have to reach before time runs."""
        places = [place for live in lives for place in self._places(live.number)]
        for place, end in self._reader.end_offsets(places, REQUEST_S).items():
            live, source = self.routes[place]
            live.goals[source] = end

    def check_goals(self, live: Live) -> None:
        """Strike out what has been reached; all that was returned must have been applied."""
        for place in self._places(live.number):
            source = self._topics[place.topic]
            if source in live.goals and self._reader.position(place) >= live.goals[source]:
                del live.goals[source]

    def outcome_ends(self, lives: Collection[Live]) -> dict[int, int]:
        """Where the outcomes of these end now, by number; one request, about 2 ms."""
        places = [TopicPartition(self._names.outcomes, live.number) for live in lives]
        return {
            place.partition: end
            for place, end in self._reader.end_offsets(places, REQUEST_S).items()
        }

    def outcome_position(self, number: int) -> int:
        """How far its outcomes have been read."""
        return self._reader.position(TopicPartition(self._names.outcomes, number))

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """How far each is read."""
        places = (TopicPartition(*place) for place in self.routes)
        return {place: self._reader.position(place) for place in places}

    def close(self) -> None:
        self._reader.close()

    def _places(self, number: int) -> list[TopicPartition]:
        return [TopicPartition(topic, number) for topic in self._topics]
