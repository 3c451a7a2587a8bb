"""What the pages show is what there is: links, examples, settings, commands, benchmarks."""

import json
import re
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from tests.bench.catalogue import NAMES
from tocsin.model.job_json import parse_job
from tocsin.model.keys import JobKey
from tocsin.settings import Settings
from tocsin_cli.main import build_app

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("ops/**/*.md")])
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}
EVERYTHING = "\n".join(TEXTS.values())
SETTINGS = TEXTS["docs/reference/settings.md"]

KEY = JobKey("default", "hello")


@pytest.mark.parametrize("page", TEXTS)
def test_every_link_to_a_file_leads_there(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", TEXTS[page]):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_every_setting_is_documented() -> None:
    for field in Settings.model_fields.keys() - {"kafka"}:
        assert f"`TOCSIN_{field.removesuffix('_ms').upper()}`" in SETTINGS


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^\$ |`)(?:[A-Z_]+=\S+ )*make ([a-z]+)", EVERYTHING, re.MULTILINE))
    assert {"demo", "dev", "test", "bench"} <= named <= targets


def test_the_readme_starts_what_its_examples_talk_to_before_they_do() -> None:
    readme, compose = TEXTS["README.md"], (ROOT / "docker-compose.yml").read_text("utf-8")
    curl, command = readme.index("curl -X PUT localhost:8080"), readme.index("$ tocsin ")
    assert readme.index("$ make dev") < curl
    assert readme.index("$ source .venv/bin/activate") < command
    (token,) = re.findall(r"TOCSIN_API_TOKEN:-(\w+)", compose)
    assert f"$ export TOCSIN_API_TOKEN={token}" in readme[readme.index("docker compose up") :]


def test_every_benchmark_is_documented_and_every_one_that_is_named_exists() -> None:
    for name in NAMES:
        assert f"`{name}`" in TEXTS["docs/reference/benchmarks.md"]
    assert set(re.findall(r"ONLY=([a-z_0-9]+) make", EVERYTHING)) <= set(NAMES)


def test_every_command_that_is_shown_exists() -> None:
    shown = [words.split() for words in re.findall(r"^\$ tocsin (.+)", EVERYTHING, re.MULTILINE)]
    assert len(shown) >= 20
    for words in shown:
        command = get_command(build_app())
        while isinstance(command, TyperGroup) and not words[0].startswith("-"):
            assert words[0] in command.commands, words
            command, words = command.commands[words[0]], words[1:] or ["-"]


JOBS = [
    *re.findall(r"-d '(\{\s*\"schedule\".+?\})'", EVERYTHING, re.DOTALL),
    *re.findall(r"\|(\{\"schedule\".+?\})'", EVERYTHING),
]


@pytest.mark.parametrize("text", JOBS)
def test_every_job_that_is_shown_is_valid(text: str) -> None:
    parse_job(json.loads(text), KEY)


def test_the_reference_of_jobs_shows_a_valid_one() -> None:
    shown = re.search(r"```json\n(.+?)```", TEXTS["docs/reference/jobs.md"], re.DOTALL)
    assert shown is not None
    assert parse_job(json.loads(shown[1]), JobKey("acme", "daily-report")).pause_on_failures == 10
    assert len(JOBS) >= 3
