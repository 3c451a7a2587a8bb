"""Breaks the rule that `MUTANT` names before tests are collected: `-p tests.mutants.plugin`."""

import os

from tests.mutants.catalogue import MUTANTS


def pytest_configure() -> None:
    name = os.environ.get("MUTANT")
    if name:
        MUTANTS[name].install()
