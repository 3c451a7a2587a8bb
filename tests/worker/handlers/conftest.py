"""A container engine for the tests that need one."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.worker.handlers.podman import NoEngine, podman_service


@pytest.fixture(scope="session")
def engine_socket() -> Iterator[Path]:
    """Of a Podman that this session starts; `-rs` shows why a test that needs one was skipped."""
    with ExitStack() as stack:
        # Podman takes no path of more than 50 characters for what it keeps while it runs.
        folder = stack.enter_context(TemporaryDirectory(prefix="podman-"))
        try:
            yield stack.enter_context(podman_service(Path(folder)))
        except NoEngine as error:
            pytest.skip(f"no container engine: {error}")
