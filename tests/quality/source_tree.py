"""The Python files of the repository, each parsed once."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_KEPT = (ast.Module, ast.Import, ast.ImportFrom, *_DEFINITIONS)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of nodes that hold statements, or what holds statements in turn."""


def list_sources(*folders: str) -> list[Path]:
    """The Python files below folders of the repository, in order."""
    return [path for folder in folders for path in sorted((REPOSITORY / folder).rglob("*.py"))]


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


@functools.cache
def read_nodes(path: Path) -> tuple[ast.AST, ...]:
    """The module, the imports, the classes and the functions of a file, without what is in them: two million
    nodes of all files would keep Python's garbage collector busy.
    """
    tree = ast.parse(path.read_bytes())
    found = (tree, *_walk_statements(tree))
    for node in found:
        if isinstance(node, ast.Module):
            node.body = [each for each in node.body if isinstance(each, _KEPT)]
        elif isinstance(node, _DEFINITIONS):
            node.body = []
    return found


def _walk_statements(node: ast.AST) -> Iterator[ast.AST]:
    """The kept nodes below a node. None is in an expression, and expressions are most of a tree."""
    for name in _BLOCKS:
        block = getattr(node, name, None)
        if isinstance(block, list):
            for each in block:
                if isinstance(each, _KEPT):
                    yield each
                yield from _walk_statements(each)
