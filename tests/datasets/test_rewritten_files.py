"""Admins of custom types that rewrite the files of their dataset: all files are new, or none."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from localcdap.api.dataset.definition import DatasetDeclaration
from localcdap.api.errors import ConflictError, LocalcdapError, PluginError
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.pipeline.validation.datasets import StageDataset
from localcdap.sandbox.pool import PluginWorker

from .modules import Modules

LOGS = '''
"""Logs in a folder, in upper case or not."""
import os
import time
from pathlib import Path

from localcdap.api.dataset.definition import DatasetAdmin, DatasetDefinition, dataset_type
from localcdap.api.dataset.specification import FolderLayout, StorageLayout


class Admin(DatasetAdmin):
    def create(self):
        super().create()
        folder = self.storage.stage_folder(self.definition.lay_out(self.specification))
        (folder / "created.log").write_text("made\\n")

    def update(self, old):
        super().update(old)
        given = self.specification.properties
        if "writer" in given:
            (Path(given["writer"]) / f"late-{time.time_ns()}.log").write_text("late\\n")
        folder = self.storage.stage_folder(self.definition.lay_out(self.specification))
        for file in sorted(folder.rglob("*.log")):
            file.write_text(file.read_text().upper())
        (folder / "deep").mkdir(exist_ok=True)
        (folder / "deep" / "index").write_text("1")
        if given.get("once"):
            Path(given["once"]).write_text("late\\n") if not Path(given["once"]).exists() else None
        if given.get("always"):
            (Path(given["always"]) / f"{time.time_ns()}.log").write_text("late\\n")
        match given.get("action"):
            case "raise":
                raise RuntimeError("disk on fire")
            case "exit":
                os._exit(3)
            case "hang":
                time.sleep(600)
            case "refuse":
                from localcdap.api.errors import IncompatibleUpdateError
                raise IncompatibleUpdateError("Logs cannot be like that")


@dataset_type("logs", description="Logs of a machine.")
class Logs(DatasetDefinition):
    admin_class = Admin

    def lay_out(self, specification):
        given = specification.properties
        folder = FolderLayout(
            given.get("path", specification.name), is_owned=given.get("owned") != "no"
        )
        return StorageLayout(folder=folder)
'''
NEW = {"created.log": "MADE\n", "a.log": "ONE\n", "deep/index": "1"}
OLD = {"created.log": "made\n", "a.log": "one\n"}


@pytest.fixture
def logs(modules: Modules) -> DatasetService:
    modules.drop("logs-1.0.0.py", LOGS)
    modules.datasets.create(DatasetRequest("web", "logs"))
    (modules.root / "default" / "web" / "a.log").write_text("one\n")
    return modules.datasets


def change(**properties: str) -> DatasetUpdate:
    return DatasetUpdate("web", properties, replaces=False)


def read(modules: Modules, name: str = "web") -> dict[str, str]:
    folder = modules.root / "default" / name
    return {
        str(each.relative_to(folder)): each.read_text()
        for each in folder.rglob("*")
        if each.is_file()
    }


def list_strays(modules: Modules) -> list[Path]:
    return [each for each in modules.root.glob("*/.*") if each.name != ".changes"]


def test_files_are_rewritten_with_the_update(modules: Modules, logs: DatasetService) -> None:
    logs.update(change(case="upper"))
    assert read(modules) == NEW
    logs.update(change(path="moved"))
    assert read(modules, "moved") == NEW, "in the folder that the same update moves"
    assert not (modules.root / "default" / "web").exists()
    assert list_strays(modules) == []


@pytest.mark.slow
@pytest.mark.parametrize("action", ["raise", "exit", "hang", "refuse"])
def test_code_that_fails_leaves_the_files(
    modules: Modules, logs: DatasetService, action: str
) -> None:
    worker = PluginWorker(time_limit_s=5, memory_mb=1024)
    service = modules.open_datasets(worker)
    before = logs.describe("default", "web")
    with pytest.raises(LocalcdapError) as raised:
        service.update(change(action=action))
    worker.close()
    assert isinstance(raised.value, PluginError) or action == "refuse"
    assert read(modules) == OLD
    assert logs.describe("default", "web") == before
    assert list_strays(modules) == []


def test_a_file_that_is_written_meanwhile_is_rewritten_too(
    modules: Modules, logs: DatasetService
) -> None:
    late = modules.root / "default" / "web" / "late.log"
    logs.update(change(once=str(late)))
    assert read(modules) == {**NEW, "late.log": "LATE\n"}

    with pytest.raises(ConflictError, match="files of dataset 'web' change all the time"):
        logs.update(change(always=str(late.parent)))
    assert read(modules)["late.log"] == "LATE\n"
    assert len(read(modules)) > 5, "what was written is there"
    assert list_strays(modules) == []


def test_updates_at_the_same_time_are_made_one_after_the_other(
    modules: Modules, logs: DatasetService
) -> None:
    """Each is compared with the properties, and rewrites the files, of the one before."""
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(logs.update, change(**{f"p{n}": "1"})) for n in range(4)]:
            done.result()
    assert logs.describe("default", "web").properties == {f"p{n}": "1" for n in range(4)}
    assert read(modules) == NEW
    assert list_strays(modules) == []


def test_a_folder_that_a_run_writes_is_not_replaced(modules: Modules, logs: DatasetService) -> None:
    (modules.root / "default" / "web" / ".part.localcdap-run-1").mkdir()
    with pytest.raises(ConflictError, match="A run writes into .*part.localcdap-run-1"):
        logs.update(change(case="upper"))
    assert read(modules) == OLD


def test_files_of_others_are_not_rewritten(modules: Modules, logs: DatasetService) -> None:
    with pytest.raises(ConflictError, match="no folder of its own"):
        logs.create(DatasetRequest("foreign", "logs", {"owned": "no"}))
    assert not logs.has_dataset("default", "foreign")


@pytest.mark.parametrize("step", ["prepare", "apply", "commit"])
def test_what_follows_the_code_fails(
    modules: Modules, logs: DatasetService, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The host fails after the user code: before its transaction, in it, and as it commits."""
    targets: dict[str, tuple[str, Callable[..., object]]] = {
        "prepare": ("localcdap.datasets.instances.change_folders", fail),
        "apply": ("localcdap.datasets.instances.compare", fail),
        "commit": ("localcdap.store.commit_log.CommitLog.commit", fail),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*targets[step])
        with pytest.raises(ZeroDivisionError):
            logs.update(change(case="upper"))
    assert read(modules) == OLD
    assert list_strays(modules) == []
    assert "case" not in logs.describe("default", "web").properties


def fail(*_: object, **__: object) -> object:
    raise ZeroDivisionError


def test_copies_of_a_killed_host_are_removed_at_the_next_start(
    modules: Modules, logs: DatasetService, worker: PluginWorker
) -> None:
    stray = modules.root / "default" / ".web.abc-1.staged"
    stray.mkdir()
    (stray / "a.log").write_text("half\n")
    modules.open_datasets(worker)
    assert list_strays(modules) == []
    assert read(modules) == OLD


def test_a_deployment_does_not_rewrite_files(modules: Modules, logs: DatasetService) -> None:
    declared = [StageDataset("Sink", DatasetDeclaration("web", "logs", {"case": "upper"}, "name"))]
    (failure,) = modules.planner.plan("default", declared, "a").failures
    assert (
        failure.message
        == "Dataset 'web' of type 'logs' rewrites its rows or files when it is updated."
    )
    assert list_strays(modules) == []
    assert read(modules) == OLD
