"""Where one benchmark family plays: a broker, folders, installations; all gone at its end."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from uuid import uuid4

from tests.bench.installation import Installation
from tests.bench.size import Size
from tocsin.broker.local import reachable_broker


class Stage:
    """Nothing is started before it is asked for."""

    def __init__(self, size: Size, folder: Path, brokers: str | None, stack: ExitStack) -> None:
        self.size = size
        self.folder = folder
        self._brokers = brokers
        self._stack = stack
        self._numbers = count(1)

    @cached_property
    def bootstrap(self) -> str:
        """A broker of the family's own, unless there is one for all; one that is made to run for
        long."""
        kept = self.folder / "kafka"
        broker = self._stack.enter_context(reachable_broker(self._brokers, kept))
        return broker.bootstrap

    @contextmanager
    def installation(self) -> Iterator[Installation]:
        """New topics, and a folder for the state of the services."""
        prefix = f"bench-{uuid4().hex[:8]}"
        folder = self.folder / f"{next(self._numbers)}-{prefix}"
        folder.mkdir()
        installation = Installation(self.bootstrap, prefix, folder)
        try:
            yield installation
        finally:
            installation.close()

    def tell(self, sentence: str) -> None:
        """Progress, for whoever watches."""
        print(sentence, file=sys.stderr, flush=True)


@contextmanager
def open_stage(size: Size, brokers: str | None) -> Iterator[Stage]:
    """Everything that was started on it has ended after the block."""
    with ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="tocsin-bench-", ignore_cleanup_errors=True)
        )
        yield Stage(size, Path(folder), brokers, stack)
