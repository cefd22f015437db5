"""Copies of dataset folders."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.dataset.dataset import copy_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    (folder / "deep").mkdir(parents=True)
    (folder / "old.log").write_text("old")
    (folder / "deep" / "more.log").write_text("more")
    return folder


def test_a_folder_that_is_replaced_while_it_is_copied_is_copied_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_tree, calls = shutil.copytree, []

    def copy_after_a_replacement(source: Path, target: Path, **options: Any) -> None:
        calls.append(source)
        if len(calls) == 1:
            target.mkdir()
            shutil.rmtree(source)
            source.mkdir()
            (source / "new.log").write_text("new")
            raise shutil.Error([("old.log", "old.log", "No such file or directory")])
        copy_tree(source, target, **options)

    monkeypatch.setattr(shutil, "copytree", copy_after_a_replacement)
    copy = copy_folder(folder)
    assert [each.name for each in Path(copy.path).iterdir()] == ["new.log"]
    assert copy.is_current()


def test_a_folder_that_cannot_be_copied_leaves_no_copy(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise PermissionError("denied")

    monkeypatch.setattr(shutil, "copytree", fail)
    with pytest.raises(PermissionError, match="denied"):
        copy_folder(folder)
    assert [each.name for each in folder.parent.iterdir()] == ["web"]
