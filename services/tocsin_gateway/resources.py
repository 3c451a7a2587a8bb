"""Files of this package that are not code."""

from importlib.resources import files


def read_resource(name: str) -> str:
    """The text of a file in the folder `files` of this package."""
    return (files("tocsin_gateway") / "files" / name).read_text("utf-8")
