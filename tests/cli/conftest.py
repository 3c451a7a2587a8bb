"""The command line as a user has it: arguments in, two streams and an exit code out."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.gateway.harness import Harness, PumpingTransport
from tocsin.client import Client
from tocsin_cli.main import main


class Said(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Tocsin = Callable[..., Said]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands run in a folder of their own, with no setting but those of the test."""
    for name in os.environ:
        if name.startswith(("TOCSIN_", "DEMO_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tocsin(capsys: pytest.CaptureFixture[str]) -> Tocsin:
    """`tocsin("job", "get", "x")`."""

    def run(*arguments: str) -> Said:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        assert "Traceback" not in said.err
        return Said(ended.value.code, said.out, said.err)

    return run


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    """The gateway that commands work on, over a Kafka in memory."""
    with Harness(tmp_path) as made:
        transport = PumpingTransport(made)

        def client(url: str, **options: Any) -> Client:
            return Client(url, transport=transport, **options)

        monkeypatch.setattr("tocsin.client.Client", client)
        yield made


@pytest.fixture
def hourly(tocsin: Tocsin, harness: Harness) -> str:
    """A job that exists; its id."""
    assert tocsin("job", "put", "hourly", "--every", "1h", "--noop").code == 0
    return "hourly"
