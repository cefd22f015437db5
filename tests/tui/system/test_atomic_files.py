"""Files that the studio puts in place: one way for all of its screens."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from localcdap.api.errors import BadRequestError
from localcdap.tui.screens.tables.console import _WRITERS, _write_file
from localcdap.tui.system.atomic_files import replace_file, write_file


@pytest.fixture(params=["a.csv", "."])
def guarded(request: pytest.FixtureRequest, tmp_path: Path):
    """A file that is read-only, or that is in a folder that is."""
    file = tmp_path / "a.csv"
    file.write_text("old")
    place = tmp_path / request.param
    mode = place.stat().st_mode
    place.chmod(mode & ~0o222)
    yield file
    place.chmod(mode)


def test_what_is_read_only_is_not_replaced_for_anyone(guarded: Path):
    with pytest.raises(BadRequestError, match="read-only"):
        write_file(guarded, "new")
    for write in _WRITERS.values():
        assert "is read-only. Save under another name." in _write_file(
            write, pa.table({"a": [1]}), guarded
        )
    assert guarded.read_text() == "old"


def test_a_file_that_is_not_finished_leaves_the_old_one(tmp_path: Path):
    file = tmp_path / "a.txt"
    write_file(file, "old")

    def fail(place: Path) -> None:
        place.write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), replace_file(file) as place:
        fail(place)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.txt", "old")]
    with pytest.raises(BadRequestError, match="cannot be written"):
        write_file(tmp_path / "no" / "a.txt", "x")


@pytest.mark.parametrize("suffix", _WRITERS)
def test_results_are_written_in_each_form(tmp_path: Path, suffix: str):
    file = tmp_path / f"a{suffix}"
    assert _write_file(_WRITERS[suffix], pa.table({"a": [1]}), file) == ""
    assert b"a" in file.read_bytes()
