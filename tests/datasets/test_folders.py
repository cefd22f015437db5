"""Changes of folders are whole, whenever the process is killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from localcdap.datasets.storage import change_folders, recover_folders
from localcdap.store.store import Store
from localcdap.testing.instance import open_new_store

AFTER = {
    "new",
    "new/deep",
    "place",
    "place/there",
    "place/there/a.csv",
    "emptied",
    "rewritten",
    "rewritten/b.csv",
}
STEPS = frozenset(("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"))


class Killed(BaseException):
    """Stands for the end of the process: from then on nothing changes the file system any more."""


class Killer:
    """Ends everything at a step that changes the file system. A hook of Python cannot be removed."""

    def __init__(self) -> None:
        self.left: int | None = None
        sys.addaudithook(self._count)

    def _count(self, event: str, arguments: tuple) -> None:
        if self.left is None or event not in STEPS or (event == "open" and arguments[1] == "r"):
            return
        self.left -= 1
        if self.left < 0:
            raise Killed


@pytest.fixture(scope="module")
def killer() -> Killer:
    return Killer()


def list_files(root: Path) -> set[str]:
    return {
        str(Path(folder, each).relative_to(root))
        for folder, folders, files in os.walk(root)
        for each in (*folders, *files)
    } - {".changes"}


def prepare(root: Path) -> set[str]:
    for name in ("moved", "emptied", "gone"):
        (root / name).mkdir(parents=True)
        (root / name / "a.csv").write_text("1\n")
    (root / "rewritten").mkdir()
    (root / "rewritten" / "a.csv").write_text("1\n")
    (root / ".staged").mkdir()
    (root / ".staged" / "b.csv").write_text("2\n")
    return list_files(root)


def change(store: Store, root: Path) -> None:
    with change_folders(store, root) as (tx, folders):
        folders.create(root / "new" / "deep")
        folders.move(root / "moved", root / "place" / "there")
        folders.empty(root / "emptied")
        folders.replace(root / "rewritten", root / ".staged")
        folders.remove(root / "gone")
        tx.execute("INSERT INTO dataset_folder_changes VALUES ('mark')")


@pytest.mark.soak
def test_a_kill_at_each_step_leaves_all_changes_or_none(killer: Killer, tmp_path: Path):
    outcomes = []
    with open_new_store(tmp_path / "x.duckdb") as store:
        for steps in range(200):
            root = tmp_path / str(steps)
            before = prepare(root)
            killer.left = steps
            try:
                change(store, root)
                was_killed = False
            except Killed:
                was_killed = True
            finally:
                killer.left = None
            mark = "SELECT id FROM dataset_folder_changes WHERE id = 'mark'"
            is_committed = bool(store.read(mark))
            recover_folders(store, root)
            assert store.read("SELECT id FROM dataset_folder_changes") == []
            assert list_files(root) == (AFTER if is_committed else before), steps
            outcomes.append(is_committed)
            if not was_killed:
                break

    assert not was_killed
    assert outcomes.count(False) > 10
    assert outcomes.count(True) > 2, "kills after the commit"


def fail_after_changes(store: Store, root: Path) -> None:
    with change_folders(store, root) as (_, folders):
        folders.empty(root / "emptied")
        folders.move(root / "moved", root / "a" / "b")
        folders.remove(root / "a" / "b")
        raise RuntimeError


def test_an_exception_restores_the_folders(tmp_path: Path):
    root = tmp_path / "root"
    before = prepare(root)
    with open_new_store(tmp_path / "x.duckdb") as store:
        with pytest.raises(RuntimeError):
            fail_after_changes(store, root)
        assert list_files(root) == before
        recover_folders(store, root)
        assert list_files(root) == before
