"""Files that stand beside the code: schemas, topics, the local broker.

In the repository they stand at its top, where people look for them; a wheel carries them inside
the package, in `_resources` (see `sources` in `pyproject.toml`).
"""

from pathlib import Path

_PACKAGED = Path(__file__).parent / "_resources"
_REPOSITORY = Path(__file__).parents[2]


def resource_path(name: str) -> Path:
    """The file or folder `name`, as named from the top of the repository.

    One of `schemas`, `ops/topics.yaml`, `ops/kafka`, or a path inside. The installed package is
    asked first. The path is returned whether or not it exists; it may be read-only.
    """
    packaged = _PACKAGED / name
    return packaged if packaged.exists() else _REPOSITORY / name
