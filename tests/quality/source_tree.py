"""The Python files of the repository, each parsed once."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def list_sources(*folders: str) -> list[Path]:
    """The Python files below folders of the repository, in order."""
    return [path for folder in folders for path in sorted((REPOSITORY / folder).rglob("*.py"))]


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


@functools.cache
def read_nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree; the first is the module."""
    return tuple(ast.walk(ast.parse(path.read_bytes())))
