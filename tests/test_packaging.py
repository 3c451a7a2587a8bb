"""The wheel is whole: what stands beside the code in the repository is inside the package."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.wheels import install_wheel
from tocsin import __version__
from tocsin.resources import resource_path

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the built wheel, as an installation lays them out."""
    return install_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def files_below(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["schemas", "ops/kafka"])
def test_a_wheel_carries_the_folder_as_it_is_in_the_repository(installed: Path, name: str) -> None:
    packaged = installed / "tocsin" / "_resources" / name
    assert files_below(packaged) == files_below(ROOT / name)
    assert files_below(packaged)


def test_an_installation_finds_its_own_files_and_not_the_repository(installed: Path) -> None:
    program = """
from tocsin.resources import resource_path
from tocsin.broker.local.java import kafka_version
import tocsin.wire.codec
print(resource_path("schemas"), kafka_version())
"""
    # The wheel's folder stands in for site-packages; the environment's own gives the dependencies.
    command = [sys.executable, "-c", program]
    environ = {"PYTHONPATH": str(installed)}
    asked = subprocess.run(command, env=environ, cwd=installed, check=True, capture_output=True)
    schemas, version = asked.stdout.decode().split()
    assert Path(schemas) == installed / "tocsin" / "_resources" / "schemas"
    assert version[0].isdigit()


def test_a_wheel_holds_every_module_and_no_test(installed: Path) -> None:
    packages = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert packages == {
        "tocsin",
        "tocsin_scheduler",
        "tocsin_worker",
        "tocsin_gateway",
        "tocsin_cli",
    }
    assert (installed / f"tocsin-{__version__}.dist-info" / "licenses" / "LICENSE").exists()
    assert (installed / "tocsin" / "py.typed").exists()


def test_in_the_repository_the_files_at_its_top_are_used() -> None:
    assert resource_path("schemas") == ROOT / "schemas"
