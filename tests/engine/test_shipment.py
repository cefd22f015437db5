"""What is sent to a cluster, and how a worker finds it there."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from localcdap.api.errors import EngineError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.model import PluginRef
from localcdap.engine.cluster.shipment import Shipment, _create_refused_error, find_package_files

MISMATCH = (
    "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver: 3.11, "
    "PySpark cannot run with different minor versions."
)
PLUGIN = """
from localcdap.api import Transform, plugin

from .helper import WORD


@plugin(type="transform", name="One", description=WORD)
class One(Transform):
    pass
"""
WORKER = """
import sys
sys.path.insert(1, {root!r})
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.loading import load_plugin
from localcdap.artifacts.model import PluginRef
import localcdap.engine.tasks.fused_pass
import msgspec
from localcdap.plugin_lib.jexl.functions.data_quality import is_date
from localcdap.plugin_lib.wrangler.language import format_recipe
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe

recipe = load_recipe("set-column a b + 1; uppercase :a")
assert not recipe.errors, recipe.errors
assert recipe.steps[0].directive.expression.compile()({{"b": 1}}) == 2
assert is_date("2021-03-04")
ref = msgspec.json.decode({ref!r}, type=PluginRef)
print(load_plugin(ref).__name__, localcdap.__path__[0], msgspec.__file__)
"""


class Session:
    """Takes archives as Spark does: unpacked into the folder that is named behind the number sign."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def addArtifacts(self, *archives: str, archive: bool) -> None:
        assert archive
        for each in archives:
            path, _, folder = each.partition("#")
            with zipfile.ZipFile(path) as packed:
                packed.extractall(self._root / folder)


def test_a_python_without_localcdap_loads_a_plugin_from_what_was_sent(tmp_path: Path):
    import msgspec

    package = tmp_path / "one-1.0.0" / "one"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__pycache__" / "junk.pyc").touch()
    (package / "__init__.py").touch()
    (package / "helper.py").write_text("WORD = 'one'\n")
    (package / "plugins.py").write_text(PLUGIN)
    ref = PluginRef(
        ArtifactId("one", "1.0.0", "USER"),
        str(package.parent),
        "0123456789abcdef0123456789abcdef",
        "transform",
        "One",
        "one.plugins.One",
    )
    (tmp_path / "archives").mkdir()
    root = tmp_path / "root"
    shipment = Shipment(Session(root), tmp_path / "archives")
    shipment.send([ref, ref])
    shipment._is_checked = True  # what the check needs is a cluster, see tests/runs/test_cluster.py
    moved = shipment.relocate(ref)

    text = WORKER.format(root=str(root), ref=msgspec.json.encode(moved))
    done = subprocess.run(
        [Path(sys.base_prefix, "bin", "python3"), "-S", "-c", text],
        cwd=tmp_path,
        env={"PATH": "/usr/bin"},
        capture_output=True,
        text=True,
    )

    assert done.stdout.split() == [
        "One",
        str(root / "localcdap"),
        str(root / "localcdap_libraries" / "msgspec" / "__init__.py"),
    ], done.stderr
    assert not Path(moved.path).is_absolute()
    sent = {path.name for path in root.rglob("*")}
    assert not sent & {"junk.pyc", "cli", "host", "plugins_dir"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["no_such_package", "a-b", "msgspec._core", ""])
def test_a_package_that_is_not_here(tmp_path: Path, name: str):
    shipment = Shipment(Session(tmp_path), tmp_path, [name])

    with pytest.raises(EngineError, match=f"no Python package '{name}'"):
        shipment.send([])


@pytest.mark.slow
def test_packages_go_along_with_what_they_require(tmp_path: Path):
    (tmp_path / "archives").mkdir()
    root = tmp_path / "root"
    packages = ["rapidfuzz", "openpyxl", "protobuf", "jsonschema_rs", "jsonschema-rs"]
    Shipment(Session(root), tmp_path / "archives", packages).send([])

    imports = "import rapidfuzz.fuzz, openpyxl, google.protobuf.message, jsonschema_rs"
    libraries = str(root / "localcdap_libraries")
    command = [Path(sys.base_prefix, "bin", "python3"), "-S", "-c", imports]
    done = subprocess.run(command, env={"PYTHONPATH": libraries}, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert not (root / "localcdap_libraries" / "pandas").exists()


def test_a_package_of_ones_own_goes_along_as_it_lies(tmp_path: Path, monkeypatch):
    (tmp_path / "own" / "inner").mkdir(parents=True)
    (tmp_path / "own" / "__init__.py").touch()
    (tmp_path / "own" / "inner" / "words.txt").touch()
    (tmp_path / "single.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    assert find_package_files(["own", "single"]) == {
        "own/__init__.py": tmp_path / "own" / "__init__.py",
        "own/inner/words.txt": tmp_path / "own" / "inner" / "words.txt",
        "single.py": tmp_path / "single.py",
    }


def test_workers_of_another_python_are_reported_in_words():
    error = _create_refused_error(MISMATCH)

    assert "run Python 3.12, localcdap runs on Python 3." in error.message
    assert error.corrective_action


def test_workers_without_a_python_are_reported_in_their_own_words():
    error = _create_refused_error(
        "\nCannot run program 'python3': No such file or directory\n  at …"
    )

    assert error.message.endswith("Cannot run program 'python3': No such file or directory")
