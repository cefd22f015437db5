"""Which files a path means."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.plugin_lib.files import inputs


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (
        "a.csv",
        "b.csv",
        "c.txt",
        "_x",
        ".y",
        "sub/d.csv",
        "sub/.z/e.csv",
        "other/f.csv",
        "we[i]rd",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    (tmp_path / "none").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("path", "options", "names"),
    [
        ("", {}, ["a.csv", "b.csv", "c.txt", "we[i]rd"]),
        (
            "",
            {"recursive": True},
            ["a.csv", "b.csv", "c.txt", "other/f.csv", "sub/d.csv", "we[i]rd"],
        ),
        ("/", {}, ["a.csv", "b.csv", "c.txt", "we[i]rd"]),
        ("/a.csv", {}, ["a.csv"]),
        ("/*.csv", {}, ["a.csv", "b.csv"]),
        ("/[ac].*", {}, ["a.csv", "c.txt"]),
        ("/[!a].csv", {}, ["b.csv"]),
        ("/?.txt", {}, ["c.txt"]),
        ("/{sub,other}/*", {}, ["other/f.csv", "sub/d.csv"]),
        ("/{a,c}.{csv,txt}", {}, ["a.csv", "c.txt"]),
        ("/*/d.csv", {}, ["sub/d.csv"]),
        ("/s*", {}, ["sub/d.csv"]),
        ("/we[i]rd", {}, ["we[i]rd"]),
        ("", {"file_regex": r".*/[ab]\.csv"}, ["a.csv", "b.csv"]),
        ("", {"file_regex": r"file:/.*txt"}, ["c.txt"]),
        ("/*", {"file_regex": r"gs://x/y/a\.csv", "document_path": "gs://x/y/*"}, ["a.csv"]),
    ],
)
def test_files_of_a_path(tree: Path, path: str, options, names):
    found = inputs.find_input_files(f"{tree}{path}", **options)

    assert [str(Path(f).relative_to(tree)) for f in found] == names


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("/missing", {}, "does not exist"),
        ("/*.md", {}, "matches no file"),
        ("/none", {}, "holds no file to read"),
        ("/_x", {}, "holds no file to read"),
        ("", {"file_regex": "a.csv"}, "None of the 4 files"),
    ],
)
def test_no_file(tree: Path, path: str, options, message: str):

    with pytest.raises(inputs.FilesNotFoundError, match=message) as failure:
        inputs.find_input_files(f"{tree}{path}", **options)

    assert failure.value.action
