"""Folders that a connection shows: nobody leaves them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.plugin_lib.connectors.file_records import RootFolder

PARTS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a",
        "b.txt",
        "link",
        "up",
        "secret.txt",
        "outer",
        "~",
        "\0",
        "%2e%2e",
        "ä",
        "...",
    ]
)
PATHS = st.lists(PARTS, max_size=8).map("/".join) | st.text(max_size=20)


@pytest.fixture(scope="module")
def outer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outer = tmp_path_factory.mktemp("outer")
    (outer / "secret.txt").write_text("secret")
    root = outer / "root"
    (root / "a").mkdir(parents=True)
    (root / "a" / "b.txt").write_text("b")
    (root / "b.txt").write_text("b")
    (root / "link").symlink_to(outer)
    (root / "a" / "up").symlink_to(root)
    (root / "dangling").symlink_to(outer / "nothing")
    return outer


@given(path=PATHS)
@settings(max_examples=300)
@example(path="../secret.txt")
@example(path="a/../../secret.txt")
@example(path="link/secret.txt")
@example(path="//../secret.txt")
@example(path="a/up/link/secret.txt")
def test_no_path_leads_out(outer: Path, path: str) -> None:
    root = RootFolder(outer / "root")
    for look in (root.find, root.browse, root.find_file):
        try:
            found = look(path)
        except (BadRequestError, NotFoundError):
            continue
        if isinstance(found, Path):
            assert found == outer / "root" or (outer / "root") in found.parents
        else:
            assert all(
                (outer / "root" / each.path.lstrip("/")).resolve().is_relative_to(outer / "root")
                for each in found.entities
                if each.can_sample or each.can_browse
            )


def test_entries(outer: Path) -> None:
    root = RootFolder(outer / "root", "/bucket/")
    found = root.browse("/")
    assert [(each.name, each.path, each.type) for each in found.entities] == [
        ("a", "/bucket/a", "directory"),
        ("b.txt", "/bucket/b.txt", "file"),
        ("dangling", "/bucket/dangling", "file"),
        ("link", "/bucket/link", "link"),
    ]
    (one,) = root.browse("/a/b.txt").entities
    assert (one.path, one.can_sample, one.properties["Size"].value) == (
        "/bucket/a/b.txt",
        True,
        "1",
    )
    searched = root.browse("/", "B.")
    assert [each.name for each in searched.entities] == ["a/b.txt", "b.txt"]
    with pytest.raises(BadRequestError, match="leads out"):
        root.browse("/link")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        root = RootFolder(tmp_path)
        assert {each.can_sample for each in root.browse("/").entities} == {False}
        for name in ("pipe", "socket", "."):
            with pytest.raises(BadRequestError):
                root.find_file(name)
    with pytest.raises(NotFoundError):
        RootFolder(tmp_path / "none").browse("/")
