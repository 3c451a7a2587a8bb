"""Alerts: what they watch is exposed, they fire, and each has a page that says what to do."""

import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tocsin.metrics import Metrics
from tocsin.wire.topics import Topics
from tocsin_gateway.projection.audience import LocalAudience
from tocsin_scheduler.shell.report import Report

OPS = Path(__file__).parents[1] / "ops"
HEADINGS = ("**What it means.**", "**Find the cause.**", "**What to do.**")
FILLED_WHERE_IT_HAPPENS = {"tocsin_records_refused_total"}
"""Its label is a topic, of which there are few; the first refusal of each goes without an alert."""


class Rule(msgspec.Struct):
    alert: str
    expr: str
    labels: dict[str, str]
    annotations: dict[str, str]

    @property
    def page(self) -> Path:
        return OPS.parent / self.annotations["runbook_url"]


class Group(msgspec.Struct):
    name: str
    rules: list[Rule]


class File(msgspec.Struct):
    groups: list[Group]


def rules() -> list[Rule]:
    file = msgspec.yaml.decode((OPS / "alerts.yaml").read_bytes(), type=File)
    return [rule for group in file.groups for rule in group.rules]


def exposed() -> dict[str, list[dict[str, str]]]:
    """Labels of the samples that a process exposes before anything has happened, by name."""
    metrics = Metrics()
    Report(metrics, Topics())
    LocalAudience("tocsin.outcomes", metrics)
    found: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(metrics.exposition().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


each_rule = pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.alert)


@each_rule
def test_an_alert_watches_what_a_process_exposes_from_its_start(rule: Rule) -> None:
    names = set(re.findall(r"\btocsin_\w+", rule.expr)) - FILLED_WHERE_IT_HAPPENS
    assert names <= exposed().keys()


@each_rule
def test_a_label_that_an_alert_chooses_is_exposed_from_the_start(rule: Rule) -> None:
    for name, label, value in re.findall(r'(tocsin_\w+)\{(\w+)="(\w+)"\}', rule.expr):
        assert {label: value} in exposed()[name]


@each_rule
def test_an_alert_has_a_page_that_says_what_to_do(rule: Rule) -> None:
    text = rule.page.read_text("utf-8")
    assert text.startswith(f"# {rule.alert}\n")
    assert all(heading in text for heading in HEADINGS)
    assert rule.labels["severity"] in {"warning", "critical"}
    assert rule.annotations["summary"]


def test_every_page_is_that_of_an_alert() -> None:
    pages = set((OPS / "runbooks").glob("*.md")) - {OPS / "runbooks" / "README.md"}
    assert pages == {rule.page for rule in rules()}


def test_the_alerts_fire_and_only_then() -> None:
    """By Prometheus itself: `apt install prometheus`, or any promtool on the PATH."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool, of Prometheus, is not installed")
    for command in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts.test.yaml"]):
        done = subprocess.run([promtool, *command], cwd=OPS, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
