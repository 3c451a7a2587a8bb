"""A PostgreSQL server for tests: the one at `TOCSIN_TEST_POSTGRES`, in which each session
makes a database of its own, else a new one."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from uuid import uuid4

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.schema import DropSchema

from tocsin import clock
from tocsin.broker.local.guarded import Guarded
from tocsin_gateway.projection.engines import make_engine

PATIENCE_S = 60.0


def server_programs() -> Path | None:
    """The folder with `initdb` and `pg_ctl`: Debian keeps them out of the path."""
    found = shutil.which("pg_ctl")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return Path(found).resolve().parent if found else next(iter(folders), None)


@contextmanager
def postgres_or_skip() -> Iterator[str]:
    """The URL of a new database; skips the test where no server is installed."""
    with tempfile.TemporaryDirectory(prefix="tocsin-postgres-") as folder:
        try:
            with postgres(Path(folder)) as url:
                yield url
        except LookupError as error:
            pytest.skip(str(error))


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """The URL of a new database; raises LookupError where no server is installed."""
    if url := os.environ.get("TOCSIN_TEST_POSTGRES"):
        with _database(url) as own:
            yield own
        return
    with _server(folder) as url:
        yield url


def empty(url: str) -> None:
    """Remove all read models that a database has."""
    engine = make_engine(url)
    with engine.begin() as connection:
        schemas = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'tocsin\\_%'"
        for schema in connection.execute(text(schemas)).scalars().all():
            connection.execute(DropSchema(schema, cascade=True))
        connection.execute(text("DROP TABLE IF EXISTS tocsin_read_models"))
    engine.dispose()


@contextmanager
def _database(url: str) -> Iterator[str]:
    """A database of its own on a server that others use, too."""
    name = f"tocsin_test_{uuid4().hex[:12]}"
    server = make_engine(url).execution_options(isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield make_url(url).set(database=name).render_as_string(hide_password=False)
    finally:
        with server.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        server.dispose()


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    programs = server_programs()
    if programs is None:
        raise LookupError("PostgreSQL is not installed; set TOCSIN_TEST_POSTGRES to a URL")
    data, port = folder / "data", _free_port()
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    initdb = [
        *_as_postgres(),
        str(programs / "initdb"),
        "-D",
        str(data),
        "-A",
        "trust",
        "-U",
        "tocsin",
    ]
    subprocess.run(initdb, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    options = ("-p", port, "-k", folder, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off")
    command = [*_as_postgres(), programs / "postgres", "-D", data, *options]
    server = Guarded([str(part) for part in command], folder / "log")
    try:
        _wait_until_ready(server, programs / "pg_isready", port, folder / "log")
        yield f"postgresql://tocsin@127.0.0.1:{port}/postgres"
    finally:
        server.end(signal.SIGQUIT, PATIENCE_S)


def _as_postgres() -> list[str]:
    """The server refuses to run as root."""
    if os.geteuid():
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]


def _wait_until_ready(server: Guarded, asking: Path, port: int, log: Path) -> None:
    deadline = clock.monotonic_ms() + PATIENCE_S * 1000
    asked = [str(asking), "-q", "-h", "127.0.0.1", "-p", str(port)]
    while subprocess.run(asked, check=False).returncode != 0:
        if not server.alive() or clock.monotonic_ms() > deadline:
            raise RuntimeError(f"PostgreSQL has not started: {log.read_text()[-500:]}")
        sleep(0.05)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
