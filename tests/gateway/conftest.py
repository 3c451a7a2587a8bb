"""A gateway for each test, over SQLite and over PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.gateway.harness import Harness
from tests.gateway.postgres import empty, postgres_or_skip
from tocsin_gateway.projection.database import sqlite_url


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a database that this session has for itself."""
    with postgres_or_skip() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """The URL of a database without read models."""
    empty(postgres_server)
    return postgres_server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "gateway.sqlite")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def harness(tmp_path: Path, database_url: str) -> Iterator[Harness]:
    """A gateway over a Kafka in memory with a scheduler that answers."""
    with Harness(tmp_path, database_url=database_url) as made:
        yield made


@pytest.fixture
def http(harness: Harness) -> httpx.Client:
    """The gateway's API."""
    return harness.http
