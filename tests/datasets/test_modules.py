"""The rules for dataset modules: conflicts, removed types, modules and types in use; with their messages."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError, PluginError
from localcdap.artifacts.service import ArtifactService
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.model import DatasetRequest
from localcdap.datasets.modules import DatasetModuleService
from localcdap.datasets.types import DatasetTypes
from localcdap.metadata.audit import AuditLog
from localcdap.sandbox.pool import PluginWorker

from .conftest import Instance

HEADER = """
from localcdap.api.dataset.definition import CompositeDefinition, DatasetDefinition, dataset_type
"""


def write_types(*names: str, embeds: str | None = None) -> str:
    """Return a module with dataset types; the first one may embed another type by its name."""
    base = "DatasetDefinition" if embeds is None else "CompositeDefinition"
    body = "    ..." if embeds is None else f'    embedded = {{"inner": "{embeds}"}}'
    return HEADER + "\n".join(
        f'@dataset_type("{name}")\nclass T{number}({base}):\n{body}\n'
        for number, name in enumerate(names)
    )


class Modules:
    def __init__(self, instance: Instance, folder: Path, worker: PluginWorker) -> None:
        self.instance = instance
        self.plugins = folder / "plugins"
        self.plugins.mkdir()
        self.given = folder / "given"
        self.given.mkdir()
        self.artifacts = ArtifactService(
            instance.store,
            worker,
            system_directory=folder / "shipped",
            plugin_directories=[self.plugins],
            cache=folder / "cache",
            trash=folder / "trash",
        )
        self.service = DatasetModuleService(instance.store, self.artifacts)
        types = DatasetTypes(instance.store, folder / "filesets", self.artifacts, worker)
        self.datasets = DatasetService(
            instance.store,
            instance.namespaces,
            instance.topics,
            AuditLog(instance.topics),
            folder / "filesets",
            types,
        )

    def add(
        self, file: str, *types: str, embeds: str | None = None, force: bool = False
    ) -> list[str]:
        """Add a module, and return its types."""
        place = self.given / file
        place.write_text(write_types(*types, embeds=embeds))
        return [each.name for each in self.service.add("default", str(place), force).types]

    def drop(self, file: str, *types: str) -> str | None:
        """Write a module into the plugin folder; return the error with which it is listed."""
        place = self.plugins / file
        place.write_text(write_types(*types))
        self.artifacts.sync()
        found = self.artifacts.list_artifacts("default")
        return next(each.error for each in found if each.path == str(place))

    def create(self, name: str, type: str) -> None:
        self.datasets.create(DatasetRequest(name, type))

    def get_types(self) -> dict[str, str]:
        """Return the artifact of each custom type."""
        found = self.datasets.list_types("default")
        return {each.name: each.artifact for each in found if each.artifact}

    def list_files(self) -> list[str]:
        return sorted(each.name for each in self.plugins.iterdir())


@pytest.fixture(scope="module")
def worker() -> Iterator[PluginWorker]:
    worker = PluginWorker(time_limit_s=100, memory_mb=1024)
    yield worker
    worker.close()


@pytest.fixture
def modules(instance: Instance, tmp_path: Path, worker: PluginWorker) -> Modules:
    return Modules(instance, tmp_path, worker)


CONFLICT = "Attempt to add dataset module 'b' containing dataset type 'one' that already exists in module 'a'"
LOSS = (
    "Attempt to remove dataset types [one] from module 'a' that have existing instances: [x]. "
    "Delete them first."
)


def test_a_type_belongs_to_one_module_unless_it_is_forced(modules: Modules) -> None:
    assert modules.add("a-1.0.0.py", "one", "two") == ["one", "two"]
    with pytest.raises(ConflictError) as error:
        modules.add("b-1.0.0.py", "one")
    assert error.value.message == CONFLICT
    assert modules.list_files() == ["a-1.0.0.py"]

    modules.add("b-1.0.0.py", "one", force=True)
    expected = {"one": "b 1.0.0", "two": "a 1.0.0"}
    assert modules.get_types() == expected
    # The next process knows it too.
    (modules.plugins / "b-1.0.0.py").touch()
    modules.artifacts.sync()
    assert modules.get_types() == expected
    assert not modules.artifacts.list_artifacts("default", errors=True)


def test_a_module_that_is_replaced_or_restored_keeps_its_mode_and_its_link(
    modules: Modules,
) -> None:
    modules.add("a-1.0.0.py", "one")
    place, real = modules.plugins / "a-1.0.0.py", modules.plugins.parent / "real.py"
    place.rename(real)
    real.chmod(0o640)
    place.symlink_to(real)

    modules.add("a-1.0.0.py", "one", "two")

    kept = real.read_text()
    assert (place.is_symlink(), stat.S_IMODE(real.stat().st_mode)) == (True, 0o640)
    assert kept == write_types("one", "two")
    modules.create("x", "one")
    with pytest.raises(ConflictError):
        modules.add("a-1.0.0.py", "two")
    assert (place.is_symlink(), stat.S_IMODE(real.stat().st_mode)) == (True, 0o640)
    assert real.read_text() == kept


def test_the_same_module_may_have_its_types_again(modules: Modules) -> None:
    modules.add("a-1.0.0.py", "one")
    modules.add("a-1.0.0.py", "one", "two")
    modules.add("a-2.0.0.py", "one")
    assert modules.get_types() == {"one": "a 2.0.0"}
    with pytest.raises(ConflictError, match="has a version that is at least 1.5.0 already"):
        modules.add("a-1.5.0.py", "one")
    assert modules.list_files() == ["a-1.0.0.py", "a-2.0.0.py"]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("file", ["a-1.0.0.py", "a-2.0.0.py"])
def test_types_with_datasets_stay(modules: Modules, file: str, force: bool) -> None:
    modules.add("a-1.0.0.py", "one", "two")
    modules.create("x", "one")
    with pytest.raises(ConflictError) as error:
        modules.add(file, "two", force=force)
    assert error.value.message == LOSS
    assert modules.get_types() == {"one": "a 1.0.0", "two": "a 1.0.0"}

    modules.datasets.drop("default", "x")
    modules.add(file, "two", force=force)
    assert list(modules.get_types()) == ["two"]


def test_a_module_that_others_use_keeps_its_types_unless_it_is_forced(modules: Modules) -> None:
    modules.add("a-1.0.0.py", "one", "two")
    modules.add("c-1.0.0.py", "outer", embeds="one")
    with pytest.raises(ConflictError) as error:
        modules.add("a-2.0.0.py", "one")
    assert error.value.message == (
        "Cannot update module 'a' to remove types [two]: Modules [c] may depend on it. Delete them first"
    )
    with pytest.raises(ConflictError) as error:
        modules.service.delete("default", "a")
    assert error.value.message == (
        "Cannot delete module a: other modules depend on it. Delete them first"
    )
    modules.add("a-2.0.0.py", "one", force=True)
    assert modules.get_types() == {"one": "a 2.0.0", "outer": "c 1.0.0"}


def test_a_module_with_datasets_is_not_deleted(modules: Modules) -> None:
    modules.add("a-1.0.0.py", "one")
    modules.add("b-1.0.0.py", "two")
    modules.create("x", "one")
    with pytest.raises(ConflictError) as error:
        modules.service.delete("default", "a")
    assert error.value.message == (
        "Cannot delete module a: other instances depend on it. Delete them first"
    )
    with pytest.raises(ConflictError) as error:
        modules.service.delete_all("default")
    assert error.value.message == (
        "Cannot delete all modules: existing dataset instances depend on it. Delete them first"
    )
    modules.service.delete("default", "b")
    assert modules.list_files() == ["a-1.0.0.py"]
    modules.datasets.drop("default", "x")
    modules.service.delete_all("default")
    assert (modules.list_files(), modules.get_types()) == ([], {})


def test_modules_of_the_system_serve_all_and_stay(modules: Modules) -> None:
    (modules.plugins / "system").mkdir()
    modules.drop("system/s-1.0.0.py", "one", "two")
    assert modules.get_types() == {"one": "s 1.0.0", "two": "s 1.0.0"}
    modules.add("a-1.0.0.py", "one")
    assert modules.get_types() == {"one": "a 1.0.0", "two": "s 1.0.0"}
    for call in (
        lambda: modules.service.delete("default", "s"),
        lambda: modules.service.delete_all("system"),
    ):
        with pytest.raises(BadRequestError) as error:
            call()
        assert error.value.message == "Cannot delete modules from 'system' namespace."
    with pytest.raises(NotFoundError, match="There is no dataset module 'x'.*available: a"):
        modules.service.delete("default", "x")


def test_a_dropped_file_that_breaks_a_rule_is_listed_with_it(modules: Modules) -> None:
    modules.add("a-1.0.0.py", "one", "two")
    modules.create("x", "one")
    assert modules.drop("b-1.0.0.py", "one") == CONFLICT
    assert modules.drop("a-1.0.0.py", "two") == (
        f"{LOSS}\nThe last good content, version 1.0.0, stays in use."
    )
    assert modules.get_types() == {"one": "a 1.0.0", "two": "a 1.0.0"}
    modules.create("y", "one")

    modules.datasets.drop("default", "x")
    modules.datasets.drop("default", "y")
    modules.artifacts.sync()
    assert modules.get_types() == {"one": "b 1.0.0", "two": "a 1.0.0"}


def test_a_removed_file_leaves_its_types_listed_as_missing(modules: Modules) -> None:
    modules.add("a-1.0.0.py", "one", "two")
    modules.create("x", "one")
    file = modules.plugins / "a-1.0.0.py"
    text = file.read_text()
    file.unlink()
    modules.artifacts.sync()
    [missing] = [each for each in modules.datasets.list_types("default") if each.artifact]
    assert (missing.name, missing.artifact) == ("one", "a 1.0.0")
    assert missing.problem == (
        f"The dataset type 'one' is missing: its artifact a 1.0.0 was {file}."
    )
    file.write_text(text)
    modules.artifacts.sync()
    assert modules.datasets.describe("default", "x").problem is None


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("import nowhere_at_all", PluginError, "No module named 'nowhere_at_all'"),
        ("x = 1", PluginError, "defines no plugin"),
    ],
)
def test_a_broken_file_is_not_added(
    modules: Modules, text: str, error: type[Exception], message: str
) -> None:
    file = modules.given / "a-1.0.0.py"
    file.write_text(text)
    with pytest.raises(error, match=message):
        modules.service.add("default", str(file))
    assert modules.list_files() == []
    with pytest.raises(NotFoundError, match="There is no file or folder"):
        modules.service.add("default", str(modules.given / "no.py"))
    assert not modules.artifacts.list_artifacts("default", errors=True)


def test_a_folder_is_added_without_what_is_hidden(modules: Modules) -> None:
    folder = modules.given / "f"
    (folder / ".venv").mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "f"\nversion = "1.0.0"\n')
    (folder / "f.py").write_text(write_types("one"))
    assert [each.name for each in modules.service.add("default", str(folder)).types] == ["one"]
    assert sorted(each.name for each in (modules.plugins / "f").iterdir()) == [
        "f.py",
        "pyproject.toml",
    ]
    (folder / "f.py").write_text("import nowhere_at_all")
    with pytest.raises(PluginError, match="nowhere_at_all"):
        modules.service.add("default", str(folder))
    assert (modules.plugins / "f" / "f.py").read_text() == write_types("one")
    assert not modules.artifacts.list_artifacts("default", errors=True)
    assert modules.get_types() == {"one": "f 1.0.0"}
    assert modules.list_files() == ["f"]
