"""A thread that takes part in a group until it is told to stop."""

import logging
from abc import ABC, abstractmethod
from threading import Thread

from tocsin.broker.errors import BrokerError, Die
from tocsin_worker.intake.mailbox import Mailbox
from tocsin_worker.threads import ended

LOG = logging.getLogger(__name__)


class Membership(ABC):
    """Its mailbox tells it to stop; one membership follows another until then."""

    def __init__(self, topic: str, group: str, mailbox: Mailbox) -> None:
        self._topic = topic
        self._group = group
        self._mailbox = mailbox
        self._thread = Thread(target=self._run, name=f"reads {topic}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, seconds: float) -> bool:
        """See `threads.ended`."""
        return ended(self._thread, seconds)

    @abstractmethod
    def _be_member(self) -> None:
        """One membership: until the reader is stopped, or the group goes on without it."""

    @abstractmethod
    def _fail(self, error: BrokerError) -> None:
        """No repetition helps; the thread ends."""

    def _run(self) -> None:
        try:
            while not self._mailbox.stopped:
                self._be_member()
        except BrokerError as error:
            if self._mailbox.stopped:
                LOG.warning(
                    "leaving group %s: %s", self._group, error, extra={"action": "leave_failed"}
                )
            else:
                self._fail(error)
        except Exception as error:
            LOG.exception("reading %s", self._topic, extra={"action": "reader_failed"})
            self._fail(Die(f"reading {self._topic}: {error}"))
