"""What holds of every command: help, settings, errors, exit codes, a quick start."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tocsin
from tocsin import __version__
from tocsin_cli.main import main

ROOT = Path(__file__).parents[2]
NOBODY = "127.0.0.1:1"
"""Where no server can be."""

COMMANDS = (
    *("demo", "dev", "broker", "topics", "scheduler", "worker", "gateway"),
    *("status", "job", "run", "next", "audit", "tail"),
)


def test_the_help_names_every_command(tocsin: Tocsin) -> None:
    said = tocsin("--help")
    assert said.code == 0
    shown = {line.split()[0] for line in said.out.splitlines() if line.strip()}
    assert set(COMMANDS) <= shown


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help(tocsin: Tocsin, command: str) -> None:
    assert tocsin(command, "-h").code == 0


def test_the_version_is_that_of_the_package(tocsin: Tocsin) -> None:
    assert tocsin("--version") == (0, f"tocsin {__version__}\n", "")


@pytest.mark.parametrize("command", ["scheduler", "worker", "gateway"])
def test_a_service_without_brokers_says_what_is_missing(command: str) -> None:
    asked = _process(command)
    assert asked.returncode == 2
    assert "TOCSIN_BROKERS is not set" in asked.stderr
    assert "Traceback" not in asked.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        *[("scheduler",), ("worker",), ("gateway",), ("gateway", "rebuild")],
        *[("topics", "check"), ("audit",), ("status",), ("tail", "jobs")],
    ],
    ids=" ".join,
)
def test_a_property_that_the_kafka_client_refuses_is_a_wrong_setting(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    kafka = {"TOCSIN_BROKERS": NOBODY, "TOCSIN_KAFKA__FOO": "bar", "TOCSIN_LISTEN": "127.0.0.1:0"}
    asked = _process(*arguments, TOCSIN_STATE_DIR=str(tmp_path), **kafka)
    assert asked.returncode == 2
    assert "No such configuration property" in asked.stderr
    assert "TOCSIN_KAFKA__" in asked.stderr
    assert "Traceback" not in asked.stderr


@pytest.mark.parametrize(
    "arguments",
    [("topics", "check"), ("job", "list"), ("run", "list"), ("audit",), ("status",)],
    ids=" ".join,
)
def test_a_misspelt_setting_is_refused(
    tocsin: Tocsin, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOCSIN_BROKER", NOBODY)
    said = tocsin(*arguments)
    assert said.code == 2
    assert said.err == "tocsin: TOCSIN_BROKER is no setting: did you mean TOCSIN_BROKERS?\n"


def test_what_does_not_exist_is_a_usage_error_with_a_hint(tocsin: Tocsin) -> None:
    said = tocsin("topic", "check")
    assert said.code == 2
    assert "Did you mean 'topics'?" in said.err


def test_an_unreachable_gateway_is_told_in_a_sentence(
    tocsin: Tocsin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOCSIN_GATEWAY_URL", f"http://{NOBODY}")
    said = tocsin("job", "get", "x")
    assert said.code == 3
    assert "is the gateway running? (TOCSIN_GATEWAY_URL)" in said.err


def test_an_interrupted_command_ends_with_130(
    tocsin: Tocsin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tocsin_cli.surroundings.settings", interrupted)
    assert tocsin("topics", "check").code == 130


def test_a_defect_is_not_dressed_up_as_a_mistake_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def defective() -> None:
        raise AssertionError("never")

    monkeypatch.setattr("tocsin_cli.surroundings.settings", defective)
    with pytest.raises(AssertionError, match="never"):
        main(["topics", "check"])


def test_a_simple_command_loads_no_client_and_no_server() -> None:
    heavy = {"confluent_kafka", "httpx", "fastapi", "aiohttp", "sqlalchemy", "rocksdict"}
    code = (
        "import sys\n"
        "from tocsin_cli.main import main\n"
        "try:\n    main(['next', '0 7 * * *'])\n"
        f"except SystemExit as end:\n    sys.exit(end.code or str({heavy!r} & sys.modules.keys()))"
    )
    asked = _python("-c", code)
    assert asked.stderr == "set()\n"


def _process(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return _python("-m", "tocsin_cli", *arguments, **variables)


def _python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": f"{ROOT / 'libs'}:{ROOT / 'services'}", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
