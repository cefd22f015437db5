"""No file over 500 lines, no function over 60: a crowded module is split, not extended."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
MOST_FILE_LINES = 500
MOST_FUNCTION_LINES = 60


def sources() -> Iterator[Path]:
    for folder in ("localcdap", "plugins_dir", "tests", "benchmarks"):
        yield from sorted((REPOSITORY / folder).rglob("*.py"))


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Name and line count of every function, its decorators left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("path", list(sources()), ids=lambda p: str(p.relative_to(REPOSITORY)))
def test_file_and_its_functions_are_small(path: Path):
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    long_functions = [
        f"{name} ({count} lines)"
        for name, count in functions(ast.parse(text))
        if count > MOST_FUNCTION_LINES
    ]

    assert lines <= MOST_FILE_LINES
    assert long_functions == []
