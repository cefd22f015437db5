"""The import paths that people's own plugins, datasets, applications and programs use.

``import_paths.txt`` has those that the manual and the scaffolds have shown, and the names that the public
packages give. A path leaves the list only with the version in which ``localcdap.moved`` stops answering it.
"""

from __future__ import annotations

import ast
import importlib
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import localcdap
from localcdap.authoring.artifact import DATASET, derive_names, list_plugin_types, write_artifact
from localcdap.moved import find_new_path
from tests.quality.source_tree import REPOSITORY
from tests.quality.test_docs import MANUAL, blocks, text_of

LIST = Path(__file__).with_name("import_paths.txt")
PUBLIC = (
    "localcdap.api",
    "localcdap.api.app",
    "localcdap.api.dataset",
    "localcdap.api.directive",
    "localcdap.api.join",
    "localcdap.api.schema",
    "localcdap.testing",
)
"""The packages whose ``__all__`` are names for authors."""
_IMPORT = re.compile(
    r"^\s*(?:from (localcdap[\w.]*) import (\([^)]*\)|.*)|import (localcdap[\w.]*))", re.MULTILINE
)
_DOTTED = re.compile(r"\blocalcdap(?:\.[A-Za-z_]\w*)+")


def read_list() -> list[str]:
    return LIST.read_text(encoding="utf-8").split()


def find_imports(code: str) -> Iterator[str]:
    """Yield the paths that the import statements of a text name; the text may have gaps."""
    for module, names, imported in _IMPORT.findall(code):
        yield imported or module
        for name in re.findall(r"(\w+)(?: as \w+)?(?:,|$|\))", re.sub(r"#.*|\s*\n\s*", "", names)):
            yield f"{module}.{name}"


def find_scaffold_imports(folder: Path) -> Iterator[str]:
    for type in (*list_plugin_types(), DATASET):
        for file in write_artifact(derive_names("Sample"), type, folder / type).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.Import):
                    yield from (each.name for each in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module
                    yield from (f"{node.module}.{each.name}" for each in node.names)


def find_shown_paths(folder: Path) -> set[str]:
    """Return the paths that the manual, the scaffolds and the public packages show."""
    shown = {path for block in blocks("python") for path in find_imports(block)}
    modules = {path.stem for path in (REPOSITORY / "localcdap").iterdir()}
    for document in MANUAL:
        for path in _DOTTED.findall(text_of(document)):
            if path.split(".")[1] in modules:  # and not a file such as localcdap.toml
                shown.add(path)
    shown |= set(find_scaffold_imports(folder))
    for package in PUBLIC:
        names = getattr(importlib.import_module(package), "__all__", ())
        shown |= {package, *(f"{package}.{name}" for name in names)}
    return {path for path in shown if path.startswith(f"{localcdap.__name__}.")}


def import_path(path: str) -> object:
    """Return the module or name of a path, as import statements find it."""
    module, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("path", read_list())
def test_every_path_that_was_shown_can_be_imported(path: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a moved path
        assert import_path(path) is not None


def test_every_path_that_is_shown_is_in_the_list(tmp_path: Path):
    assert sorted(find_shown_paths(tmp_path) - set(read_list())) == []


def test_no_path_that_is_shown_has_moved(tmp_path: Path):
    assert [path for path in sorted(find_shown_paths(tmp_path)) if find_new_path(path)] == []


def test_the_list_is_in_order():
    assert read_list() == sorted(set(read_list()))
