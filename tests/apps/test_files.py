"""The folders of files of applications, which live as long as their namespace."""

from __future__ import annotations

import pytest

from localcdap.api.errors import NotFoundError
from localcdap.apps.storage import AppFiles
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.testing.instance import open_new_store
from tests.apps.catalogue import Catalogue


def test_an_application_has_a_folder_for_each_namespace(cdap_app):
    app = cdap_app(Catalogue)
    app.namespaces.create("team")
    folders = {name: app.context.open_folder(name) for name in ("default", "team", "system")}

    assert len(set(folders.values())) == 3
    assert all(folder.is_dir() for folder in folders.values())
    assert app.context.open_folder("team") == folders["team"]
    with pytest.raises(NotFoundError):
        app.context.open_folder("nowhere")


def test_the_folder_goes_with_its_namespace(cdap_app):
    app = cdap_app(Catalogue)
    app.namespaces.create("team")
    old, other = app.context.open_folder("team"), app.context.open_folder("default")
    (old / "model.bin").write_bytes(b"1")

    app.namespaces.delete("team")
    assert not old.exists()
    assert other.is_dir()
    with pytest.raises(NotFoundError):
        app.context.open_folder("team")
    app.namespaces.create("team")
    new = app.context.open_folder("team")
    assert new != old
    assert list(new.iterdir()) == []


def test_folders_of_applications_are_apart_whatever_their_names(tmp_path):
    with open_new_store(tmp_path / "x.duckdb") as store:
        files = AppFiles(tmp_path / "files", NamespaceService(store, Topics(store)))
        names = ("a", "..", "a/b", "default-0")
        folders = {files.open_folder(name, "default") for name in names}
    assert len(folders) == len(names)
    assert {folder.parent.parent for folder in folders} == {tmp_path / "files"}
