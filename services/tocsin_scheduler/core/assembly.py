"""How the parts of the core are put together."""

from dataclasses import dataclass

from tocsin_scheduler.core.backlog import Backlogs
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.definitions import Definitions
from tocsin_scheduler.core.due_loop import DueLoop
from tocsin_scheduler.core.edits import Edits
from tocsin_scheduler.core.emission import Emission
from tocsin_scheduler.core.endings import Endings
from tocsin_scheduler.core.failures import Failures
from tocsin_scheduler.core.occurrences import Occurrences
from tocsin_scheduler.core.one_offs import OneOffs
from tocsin_scheduler.core.outcomes import Outcomes
from tocsin_scheduler.core.overlay import Overlay
from tocsin_scheduler.core.ranges import Ranges
from tocsin_scheduler.core.signals import Signals
from tocsin_scheduler.core.stopping import Stopping
from tocsin_scheduler.core.store import Store
from tocsin_scheduler.core.timers import Timers
from tocsin_scheduler.core.upkeep import Upkeep


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that work on one partition's book."""

    book: Book
    definitions: Definitions
    edits: Edits
    signals: Signals
    outcomes: Outcomes
    due_loop: DueLoop
    timers: Timers
    ranges: Ranges


def assemble(store: Store, config: CoreConfig) -> Parts:
    book = Book(Overlay(store), config)
    emission = Emission(config)
    endings = Endings(book, emission)
    stopping = Stopping(book, emission, endings, config)
    occurrences = Occurrences(book, emission, stopping, endings, config)
    backlogs = Backlogs(book, emission, occurrences)
    one_offs = OneOffs(book, occurrences, backlogs, config)
    edits = Edits(book, emission, occurrences, backlogs, one_offs, stopping, endings, config)
    failures = Failures(book, emission, occurrences, config)
    upkeep = Upkeep(book, emission, edits, config)
    return Parts(
        book=book,
        definitions=Definitions(book, emission, edits, config),
        edits=edits,
        signals=Signals(book, emission, occurrences, failures, stopping),
        outcomes=Outcomes(book, emission, occurrences, failures, endings, config),
        due_loop=DueLoop(book, backlogs, occurrences),
        timers=Timers(book, occurrences, failures, endings, upkeep, config),
        ranges=Ranges(book, emission, occurrences),
    )
