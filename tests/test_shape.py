"""Code stays in pieces that one can read."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FUNCTION_LINES = 100
MODULE_LINES = 1_000


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Name and number of lines of each."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("folder", ["libs", "services", "tests"])
def test_no_module_and_no_function_is_too_long_to_read(folder: str) -> None:
    for module in (ROOT / folder).rglob("*.py"):
        text = module.read_text("utf-8")
        assert text.count("\n") < MODULE_LINES, module
        long = [name for name, lines in functions(ast.parse(text)) if lines >= FUNCTION_LINES]
        assert long == [], module
