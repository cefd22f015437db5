"""Files that are put in place: one way for the studio and the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.files.atomic import replace_file, write_file


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
