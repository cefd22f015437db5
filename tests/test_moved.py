"""Old paths of modules and names: what they give, and whom the warning names."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.api import tables
from localcdap.moved import MOVED, MovedModuleFinder, build_getattr, find_new_path, list_uses


class NewName:
    """What a renamed name stands for."""


__getattr__ = build_getattr(__name__)


@pytest.fixture(autouse=True)
def injected_moves(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Moves of a name, a module, a whole package, and a module of a package that is gone."""
    for old, new in {
        f"{__name__}.OldName": f"{__name__}.NewName",
        "localcdap.api.module_before": "localcdap.api.tables",
        "localcdap.package_before": "localcdap.api.dataset",
        "localcdap.left_package.inner.codec": "localcdap.api.arrow",
    }.items():
        monkeypatch.setitem(MOVED, old, new)
    loaded = set(sys.modules)
    yield
    for name in set(sys.modules) - loaded:
        if find_new_path(name) or name.startswith("localcdap.left_package"):
            del sys.modules[name]
            parent, _, child = name.rpartition(".")
            vars(sys.modules.get(parent, sys)).pop(child, None)


def run_code(code: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a module in a new process; ``author.py`` is its file."""
    file = folder / "author.py"
    file.write_text(code)
    return subprocess.run(
        [sys.executable, *options, str(file)], capture_output=True, text=True, check=False
    )


def test_an_old_name_is_the_new_one_and_warns():
    module = sys.modules[__name__]

    with pytest.warns(DeprecationWarning, match=r"OldName has moved .* use .*NewName") as caught:
        assert module.OldName is NewName
    assert caught[0].filename == __file__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = sys.modules[__name__].Nothing


@pytest.mark.parametrize(
    ("statement", "name", "new"),
    [
        ("import localcdap.api.module_before as found", "module_before", "localcdap.api.tables"),
        (
            "from localcdap.api import module_before as found",
            "module_before",
            "localcdap.api.tables",
        ),
        ("import localcdap.package_before as found", "package_before", "localcdap.api.dataset"),
        (
            "import localcdap.package_before.dataset as found",
            "package_before",
            "localcdap.api.dataset.dataset",
        ),
        (
            "from localcdap.package_before import dataset as found",
            "package_before",
            "localcdap.api.dataset.dataset",
        ),
        (
            "import localcdap.left_package.inner.codec as found",
            "left_package",
            "localcdap.api.arrow",
        ),
        (
            "from localcdap.left_package.inner import codec as found",
            "left_package",
            "localcdap.api.arrow",
        ),
    ],
)
def test_an_old_path_of_a_module_gives_the_very_module(statement: str, name: str, new: str):
    names: dict[str, object] = {"__name__": "author"}

    with pytest.warns(DeprecationWarning, match=f"{name}.* has moved") as caught:
        exec(compile(statement, "author.py", "exec"), names)
    assert names["found"] is importlib.import_module(new)
    assert {each.filename for each in caught} == {"author.py"}


def test_names_are_imported_from_an_old_path():
    names: dict[str, object] = {"__name__": "author"}

    statements = """
from localcdap.api.module_before import TableShape
from localcdap.api.module_before import *
"""
    with pytest.warns(DeprecationWarning, match="module_before"):
        exec(statements, names)
    assert names["TableShape"] is tables.TableShape
    assert names["SortField"] is tables.SortField


def test_an_unknown_module_below_a_moved_package_is_named():
    with (
        pytest.warns(DeprecationWarning, match="package_before"),
        pytest.raises(ModuleNotFoundError, match=r"localcdap\.api\.dataset\.nothing"),
    ):
        importlib.import_module("localcdap.package_before.nothing")


def test_pickles_with_old_paths_are_read():
    text = pickle.dumps(tables.SortField("a"), protocol=0)
    assert b"localcdap.api.tables" in text

    old = text.replace(b"localcdap.api.tables", b"localcdap.api.module_before")
    with pytest.warns(DeprecationWarning, match="module_before"):
        assert pickle.loads(old) == tables.SortField("a")


def test_a_class_is_pickled_with_its_new_path():
    with pytest.warns(DeprecationWarning, match="module_before"):
        module = importlib.import_module("localcdap.api.module_before")
    assert b"module_before" not in pickle.dumps(module.SortField("a"))


def test_the_lines_that_use_old_paths_are_listed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(
            compile("\n\nfrom localcdap.api import module_before", "listed.py", "exec"),
            {"__name__": "author"},
        )

    (use,) = [each for each in list_uses() if each.file == "listed.py"]
    assert use == ("localcdap.api.module_before", "localcdap.api.tables", "listed.py", 3)


def test_every_process_that_imports_localcdap_finds_moved_modules(tmp_path: Path):
    code = "import localcdap.api.lookup\nfrom localcdap.api.tables import Order\nprint(Order)\n"

    done = run_code(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, "<class 'localcdap.api.tables.SortField'>\n")
    assert "author.py:1: DeprecationWarning: localcdap.api.lookup has moved" in done.stderr
    assert "author.py:2: DeprecationWarning: localcdap.api.tables.Order has moved" in done.stderr

    failed = run_code(code, tmp_path, "-W", "error::DeprecationWarning")
    assert failed.returncode == 1
    assert "localcdap.api.lookup has moved" in failed.stderr


def test_there_is_one_finder():
    importlib.import_module("localcdap.moved").install()

    assert len([each for each in sys.meta_path if isinstance(each, MovedModuleFinder)]) == 1


def resolve(path: str) -> object:
    """Return the module or the name in a module of a path."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except AttributeError:
        return importlib.import_module(path)


def test_every_old_path_gives_what_the_new_one_gives(monkeypatch: pytest.MonkeyPatch):
    for old, new in MOVED.items():
        if __name__ in old or "_before" in old or "left_package" in old:
            continue
        if old in sys.modules:  # another test has imported it, and got the warning
            module, _, name = old.rpartition(".")
            monkeypatch.delitem(sys.modules, old)
            monkeypatch.delattr(sys.modules[module], name, raising=False)
        with pytest.warns(DeprecationWarning, match=f"use {new}"):
            value = resolve(old)
        assert value is resolve(new)
