"""New runs go to workers that can take them, as far as the workers are known."""

from collections.abc import Mapping

from tocsin.broker.port import Cluster
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.placing import Chooser
from tocsin_scheduler.core.workforce import FRESH_MS, WorkerNews, Workforce
from tocsin_scheduler.shell.report import Refused
from tocsin_scheduler.shell.worker_reports import WorkerReports


class Spreading:
    """choosers: by runs topic. Belongs to the loop's thread; what it is told acts at once."""

    def __init__(self, cluster: Cluster, topics: Topics, refused: Refused) -> None:
        self._reports = WorkerReports(cluster, topics.workers, refused)
        self._workforce = Workforce(topics)
        self._run_topics: Mapping[str, int] = {}
        self.choosers: Mapping[str, Chooser] = {}

    def over(self, run_topics: Mapping[str, int]) -> None:
        """These are the runs topics there are, with their numbers of partitions."""
        if run_topics != self._run_topics:
            self._run_topics = dict(run_topics)
            self.choosers = {topic: Chooser(count) for topic, count in run_topics.items()}
            self._share()

    def follow(self, now: int) -> None:
        """Take in what workers have reported since the last call."""
        reported = self._reports.read(now, FRESH_MS)
        for worker, report, at in reported:
            if report is None:
                self._workforce.gone(worker)
            else:
                self._workforce.heard(report, at)
        if self._workforce.forget(now) or reported:
            self._share()

    def learn(self, news: WorkerNews) -> None:
        """Take in what outcomes tell of workers, before runs are placed that follow from them."""
        if self._workforce.learn(news):
            self._share()

    def close(self) -> None:
        self._reports.close()

    def _share(self) -> None:
        for topic, shares in self._workforce.shares(self._run_topics).items():
            self.choosers[topic].share(shares)
