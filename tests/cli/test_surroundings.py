"""Which installation a command means."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tocsin_cli.surroundings import (
    HOME,
    InUse,
    Running,
    claimed,
    is_abandoned,
    running_here,
    settings,
)

ROOT = Path(__file__).parents[2]
DEMO = Running(
    gateway_url="http://127.0.0.1:20001",
    scheduler_url="http://127.0.0.1:20002",
    brokers="127.0.0.1:20003",
    prefix="demo",
)


def test_without_anything_running_the_settings_are_the_defaults() -> None:
    found = settings()
    assert (found.gateway_url, found.brokers) == ("http://127.0.0.1:8080", None)


def test_what_runs_in_this_folder_is_meant() -> None:
    with claimed(HOME / "demo-1") as claim:
        claim.announce(DEMO)
        found = settings()
    assert (found.gateway_url, found.brokers, found.prefix) == (
        DEMO.gateway_url,
        DEMO.brokers,
        DEMO.prefix,
    )


@pytest.mark.parametrize("name", ["TOCSIN_GATEWAY_URL", "TOCSIN_BROKERS"])
def test_a_setting_that_names_an_installation_wins_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"TOCSIN_GATEWAY_URL": "http://g.example", "TOCSIN_BROKERS": "k.example:9092"}
    monkeypatch.setenv(name, given[name])
    with claimed(HOME / "demo-1") as claim:
        claim.announce(DEMO)
        found = settings()
    assert found.prefix == "tocsin"
    assert {found.gateway_url, found.brokers}.isdisjoint({DEMO.gateway_url, DEMO.brokers})


def test_what_is_still_starting_is_not_there_yet() -> None:
    with claimed(HOME / "demo-1"):
        assert running_here() is None


def test_what_has_ended_is_not_there_any_more() -> None:
    with claimed(HOME / "demo-1") as claim:
        claim.announce(DEMO)
    assert running_here() is None
    assert is_abandoned(HOME / "demo-1")


def test_the_newest_is_meant() -> None:
    newer = Running(
        gateway_url="http://127.0.0.1:3", scheduler_url="", brokers="b:1", prefix="newer"
    )
    with claimed(HOME / "a") as first, claimed(HOME / "b") as second:
        second.announce(newer)
        first.announce(DEMO)
        os.utime(HOME / "a" / "running.json", (1, 1))
        assert running_here() == newer


def test_a_folder_has_one_claim() -> None:
    with claimed(HOME / "dev"):
        assert not is_abandoned(HOME / "dev")
        with pytest.raises(InUse), claimed(HOME / "dev"):
            pass
    with claimed(HOME / "dev"):
        pass


def test_a_killed_process_leaves_no_claim() -> None:
    code = (
        "import os, signal\n"
        "from tocsin_cli.surroundings import HOME, claimed\n"
        "with claimed(HOME / 'dev'):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = f"{ROOT / 'libs'}:{ROOT / 'services'}"
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, check=False)
    assert is_abandoned(HOME / "dev")
    with claimed(HOME / "dev"):
        pass
