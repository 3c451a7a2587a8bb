"""Projects as their users have them: built into a wheel, and unpacked where Python finds it."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest


def install_wheel(project: Path, folder: Path) -> Path:
    """The folder, below `folder`, with the files of the project's wheel; no dependencies."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=project, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"
