"""Which artifact a plugin class under test belongs to."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localcdap.api import Transform, plugin
from localcdap.api.errors import BadRequestError
from localcdap.artifacts.loading import load_plugin
from localcdap.testing import plugin_ref
from tests.engine.plugins import AddOne

CODE = """
from localcdap.api import Transform, plugin
from {package}.words import WORD

@plugin(type="transform", name="P", description=WORD)
class P(Transform): ...
"""


@pytest.fixture
def imported(monkeypatch) -> Callable[[Path, str], type[Transform]]:
    """The plugin class P of a file that is imported under a name."""

    def imported(file: Path, name: str) -> type[Transform]:
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module.P

    return imported


@pytest.mark.parametrize("source", [".", "src"])
def test_a_class_of_an_artifact_folder_is_loaded_as_a_part_of_it(
    tmp_path, monkeypatch, imported, source
):
    package = f"words_{len(source)}"
    folder = tmp_path / source / package
    folder.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "w"\nversion = "1.0.0"\n')
    (folder / "__init__.py").touch()
    (folder / "words.py").write_text("WORD = 'word'\n")
    (folder / "p.py").write_text(CODE.format(package=package))
    monkeypatch.syspath_prepend(str(tmp_path / source))

    ref = plugin_ref(imported(folder / "p.py", f"{package}.p"))

    assert (ref.path, ref.class_name) == (str(tmp_path), f"{package}.p.P")
    assert load_plugin(ref).__name__ == "P"


def test_a_class_of_a_test_is_an_artifact_by_itself():
    ref = plugin_ref(AddOne)

    assert Path(ref.path).name == "plugins.py"
    assert load_plugin(ref).__qualname__ == "AddOne"


def test_an_edited_file_is_another_artifact(tmp_path, imported):
    file = tmp_path / "p.py"
    file.write_text(CODE.replace("from {package}.words import WORD", "WORD = 'w'"))
    before = plugin_ref(imported(file, "edited"))
    file.write_text(file.read_text() + "\n")

    assert plugin_ref(imported(file, "edited")).digest != before.digest


def test_what_spark_cannot_load_is_refused():
    @plugin(type="transform", name="Inner", description="Inside a function.")
    class Inner(Transform): ...

    with pytest.raises(BadRequestError, match="inside a function"):
        plugin_ref(Inner)
    with pytest.raises(BadRequestError, match="is not a plugin"):
        plugin_ref(Transform)
