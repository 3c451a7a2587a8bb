"""A handler of somebody else's: installed beside Tocsin, it is checked, found and conforms."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.documents import job
from tests.gateway.harness import Harness
from tests.wheels import install_wheel
from tocsin_gateway.gateway import Options
from tocsin_gateway.handler_checks import installed_checks
from tocsin_worker.handlers import catalogue
from tocsin_worker.testing import equipment

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "handler"
PLACE = {"type": "acme-redis", "address": "redis.example:6379", "channel": "reports"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_wheel(EXAMPLE, tmp_path_factory.mktemp("example"))


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example stands beside Tocsin in this process."""
    monkeypatch.syspath_prepend(str(site))
    yield
    for name in [name for name in sys.modules if name.startswith("acme_tocsin")]:
        del sys.modules[name]


def test_it_passes_the_conformance_suite_from_installed_wheels(site: Path, tmp_path: Path) -> None:
    tocsin = install_wheel(ROOT, tmp_path)
    tests = shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    environ = {**os.environ, "PYTHONPATH": f"{tocsin}{os.pathsep}{site}"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    told = subprocess.run(
        command, cwd=tests, env=environ, capture_output=True, text=True, check=False
    )
    assert "8 passed" in told.stdout, told.stdout + told.stderr


@pytest.mark.usefixtures("installed")
def test_a_worker_has_it() -> None:
    assert catalogue.registry(equipment()).handler("acme-redis").type == "acme-redis"


@pytest.mark.usefixtures("installed")
def test_a_gateway_judges_its_configuration(tmp_path: Path) -> None:
    with Harness(tmp_path, Options(handler_checks=installed_checks())) as harness:
        wrong = harness.http.put("/v1/jobs/a", json=job(handler={**PLACE, "adress": "x"}))
        right = harness.http.put("/v1/jobs/a", json=job(handler=PLACE))
    (error,) = wrong.json()["errors"]
    assert (wrong.status_code, error["pointer"]) == (422, "/handler/adress")
    assert error["message"] == "there is no field adress; did you mean address?"
    assert (right.status_code, right.json()["handler"]) == (201, PLACE)
