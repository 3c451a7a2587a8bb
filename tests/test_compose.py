"""The Compose file runs what exists: commands, settings, images, and a Kafka like the local one."""

import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml

from tocsin.broker.local.java import kafka_version
from tocsin.settings import load_settings
from tocsin_gateway.service import check_access

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docker-compose.yml"
COMPOSE = yaml.safe_load(FILE.read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"] == "tocsin:local"]


def client_has_compose() -> bool:
    try:
        asked = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return asked.returncode == 0


@pytest.mark.skipif(not client_has_compose(), reason="no docker client with compose")
@pytest.mark.parametrize("profile", ["postgres", "kafka-ui"])
def test_compose_itself_accepts_the_file(profile: str) -> None:
    command = ["docker", "compose", "-f", str(FILE), "--profile", profile, "config", "--quiet"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert asked.returncode == 0, asked.stderr


def test_the_whole_stack_is_there() -> None:
    always = {name for name, service in SERVICES.items() if "profiles" not in service}
    assert always == {"kafka", "topics", "scheduler-1", "scheduler-2", "worker", "gateway"}
    optional = {name: service.get("profiles") for name, service in SERVICES.items()}
    assert {name: found for name, found in optional.items() if found} == {
        "postgres": ["postgres"],
        "kafka-ui": ["kafka-ui"],
    }


@pytest.mark.parametrize("name", OURS)
def test_a_service_starts_a_command_that_exists(name: str) -> None:
    pytest.importorskip("tocsin_cli.main", reason="the command line is not there yet")
    program = "from tocsin_cli.main import main; main()"
    command = [sys.executable, "-c", program, *SERVICES[name]["command"], "--help"]
    environ = {"PYTHONPATH": f"{ROOT / 'libs'}:{ROOT / 'services'}"}
    asked = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    assert asked.returncode == 0, asked.stderr


@pytest.mark.parametrize("name", OURS)
def test_a_service_is_given_settings_that_exist(name: str) -> None:
    given = {key: defaulted(value) for key, value in SERVICES[name]["environment"].items()}
    settings = load_settings(given)
    host, _, port = settings.bootstrap().partition(":")
    assert f"PLAINTEXT://{host}:{port}" in kafka_environment()["KAFKA_ADVERTISED_LISTENERS"]


def defaulted(value: str) -> str:
    """A value as Compose substitutes it where the shell sets nothing: `${NAME:-default}`."""
    match = re.fullmatch(r"\$\{\w+:-(.*)\}", value)
    return match[1] if match else value


def test_each_scheduler_has_a_node_id_and_a_store_of_its_own() -> None:
    schedulers = [SERVICES["scheduler-1"], SERVICES["scheduler-2"]]
    assert len({service["environment"]["TOCSIN_NODE_ID"] for service in schedulers}) == 2
    assert len({service["volumes"][0] for service in schedulers}) == 2


def test_what_a_service_waits_for_and_where_it_keeps_data_is_declared() -> None:
    volumes = {
        volume.partition(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
    }
    assert volumes == set(COMPOSE["volumes"])
    waited_for = {name for service in SERVICES.values() for name in service.get("depends_on", {})}
    assert waited_for <= SERVICES.keys()


def test_ports_are_open_to_this_machine_alone() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_gateway_asks_for_a_token_where_others_can_reach_it() -> None:
    environment = SERVICES["gateway"]["environment"]
    settings = load_settings({name: defaulted(value) for name, value in environment.items()})
    assert settings.listen is not None
    check_access(settings, settings.listen, lambda: False)


def test_every_image_is_pinned_and_names_no_registry() -> None:
    images = {service["image"] for service in SERVICES.values()}
    assert all(re.fullmatch(r"([a-z0-9-]+/)?[a-z0-9-]+:[\w.-]+", image) for image in images)
    assert not any(image.endswith(":latest") for image in images)


def test_kafka_is_the_version_of_the_local_broker() -> None:
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{kafka_version()}"


def test_kafka_is_set_up_as_the_local_broker_is() -> None:
    local = dict(local_properties())
    ours = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): value
        for name, value in kafka_environment().items()
    }
    differs = {"listeners", "advertised.listeners", "listener.security.protocol.map", "log.dirs"}
    differs |= {"controller.quorum.voters", "heap.opts"}
    assert {name: ours[name] for name in ours.keys() - differs} == {
        name: local[name] for name in ours.keys() - differs
    }
    internal = {name for name in local if name.endswith((".factor", ".isr", ".num.partitions"))}
    assert internal <= ours.keys()


def kafka_environment() -> dict[str, str]:
    found: dict[str, str] = SERVICES["kafka"]["environment"]
    return found


def local_properties() -> Iterator[tuple[str, str]]:
    for line in (ROOT / "ops/kafka/server.properties").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name, Template(value).safe_substitute()


def test_the_image_is_built_from_files_that_docker_is_shown() -> None:
    rules = (ROOT / ".dockerignore").read_text("utf-8").split()
    shown = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    needed = {"pyproject.toml", "requirements.lock", "README.md", "LICENSE"}
    needed |= {"libs", "services", "schemas", "ops"}
    assert needed <= shown
    assert all(f'"{folder}' in pyproject for folder in ("libs", "services", "schemas", "ops/kafka"))
    assert not [rule for rule in shown if fnmatch(".git", rule) or fnmatch(".tocsin", rule)]


def test_the_image_runs_as_nobody_in_particular() -> None:
    lines = (ROOT / "ops/docker/Dockerfile").read_text("utf-8").splitlines()
    last_stage = lines[max(i for i, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert "USER tocsin" in last_stage
    assert 'ENTRYPOINT ["tocsin"]' in last_stage
