"""`make mutants`: break each rule in turn and see whether the suite notices. `ONLY=name,name`."""

import os
import subprocess
import sys
from collections.abc import Iterable

from tests.mutants.catalogue import MUTANTS

PASSED, FAILED = 0, 1


def outcome_of(tests: Iterable[str], mutant: str = "") -> int:
    """Pytest's exit code; seeds and examples are the same in every run."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.mutants.plugin", *tests]
    environment = {**os.environ, "MUTANT": mutant, "CI": "1"}
    return subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode


def survives(name: str) -> bool:
    mutant = MUTANTS[name]
    code = outcome_of(mutant.tests, name)
    verdicts = {FAILED: "caught", PASSED: "SURVIVED"}
    print(f"{verdicts.get(code, f'pytest ended with {code}'):10} {name}: {mutant.rule}", flush=True)
    return code != FAILED


def hunt(names: list[str]) -> int:
    """The exit code: 0 where none survives and the tests pass without any of them."""
    tests = sorted({test for name in names for test in MUTANTS[name].tests})
    if outcome_of(tests) != PASSED:
        print("these tests do not pass as they are:", *tests, sep="\n  ")
        return 1
    survivors = [name for name in names if survives(name)]
    print(f"{len(names) - len(survivors)} of {len(names)} caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(hunt(os.environ["ONLY"].split(",") if os.environ.get("ONLY") else list(MUTANTS)))
