"""No file over 600 lines, no function over 60: a crowded module is split, not extended.

A module with a few lines more is better than a second one that only it imports.
"""

from __future__ import annotations

import ast

from tests.quality.source_tree import list_sources, name_of, read_nodes

FOLDERS = ("localcdap", "plugins_dir", "tests", "benchmarks")
MOST_FILE_LINES = 600
MOST_FUNCTION_LINES = 60


def test_files_are_small():
    lines = {name_of(p): len(p.read_bytes().splitlines()) for p in list_sources(*FOLDERS)}

    assert len(lines) > 1000
    assert {name: count for name, count in lines.items() if count > MOST_FILE_LINES} == {}


def test_functions_are_small():
    """The decorators of a function are left out."""
    long_functions = [
        f"{name_of(path)}:{node.lineno}: {node.name} ({count} lines)"
        for path in list_sources(*FOLDERS)
        for node in read_nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (count := (node.end_lineno or node.lineno) - node.lineno + 1) > MOST_FUNCTION_LINES
    ]

    assert long_functions == []
