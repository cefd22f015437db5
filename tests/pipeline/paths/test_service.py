"""The service that lists folders and looks into files, on a real instance."""

from __future__ import annotations

import bz2
import gzip
import os

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError, StageError
from localcdap.files.detection import HEAD_BYTES
from localcdap.pipeline.paths.entries import list_folder
from localcdap.pipeline.paths.service import PathQuery
from localcdap.testing.instance import TemporaryInstance

LINES = "id,name\n1,ada\n2,bob\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("instance")


@pytest.fixture(scope="module")
def paths(folder):
    bucket = folder / "bucket"
    (bucket / "daily").mkdir(parents=True)
    (bucket / "daily" / "_SUCCESS").write_text("")
    (bucket / "daily" / "b.csv").write_text(LINES)
    (bucket / "daily" / "a.csv").write_text(LINES.replace(",", "\t"))
    (bucket / ".hidden").write_text("")
    (folder / "sales.csv").write_text(LINES)
    with TemporaryInstance(folder) as instance:
        instance.settings(f'[locations]\n"gs://sales" = "{bucket}"\n')
        yield instance.cdap.paths


def names(paths, path):
    return [entry.name for entry in paths.list_entries(PathQuery(path)).entries]


def test_entries_are_those_of_the_folder_of_the_instance_or_of_a_location(paths, folder):
    assert {"gs://sales", "bucket", "sales.csv"} <= set(names(paths, "sa"))
    assert names(paths, "gs://s") == ["sales"]
    assert names(paths, "gs://sales/") == ["daily"]
    assert names(paths, "gs://sales/.") == ["daily", ".hidden"]
    assert names(paths, f"{folder}/bucket/daily/x") == ["_SUCCESS", "a.csv", "b.csv"]
    assert paths.list_entries(PathQuery("bucket/da")).head == "bucket/"
    assert names(paths, "nothing/here/") == []
    assert names(paths, "sales.csv/") == []


def test_a_path_that_cannot_be_resolved_says_why(paths):
    with pytest.raises(StageError, match="does not lie on this machine"):
        paths.list_entries(PathQuery("s3://other/"))
    with pytest.raises(BadRequestError, match="macro without a value"):
        paths.list_entries(PathQuery("${where}/"))
    found = paths.list_entries(PathQuery("${where}/", arguments={"where": "gs://sales"}))
    assert [entry.name for entry in found.entries] == ["daily"]


def test_a_peek_shows_the_first_lines_and_the_guess(paths, folder):
    peek = paths.peek(PathQuery("sales.csv"))
    assert (peek.file, peek.size) == (str(folder / "sales.csv"), len(LINES))
    assert (peek.lines, peek.is_whole) == (["id,name", "1,ada", "2,bob"], True)
    assert (peek.guess.format, peek.guess.has_header) == ("csv", True)


@pytest.mark.parametrize("path", ["gs://sales/daily", "gs://sales/daily/*.csv", "bucket/*/a.csv"])
def test_of_a_folder_and_of_a_pattern_the_first_file_is_read(paths, folder, path):
    peek = paths.peek(PathQuery(path))
    assert peek.file == str(folder / "bucket" / "daily" / "a.csv")
    assert peek.guess.format == "tsv"


def test_a_large_file_is_not_read_whole(paths, folder):
    with (folder / "large.csv").open("wb") as file:
        file.write(b"id,name\n" + b"1,ada\n" * HEAD_BYTES)
        file.truncate(1 << 40)  # no one could read the holes of this file
    peek = paths.peek(PathQuery("large.csv"))
    assert (peek.size, peek.is_whole, peek.guess.format) == (1 << 40, False, "csv")
    assert len(peek.lines) < 100
    (folder / "line.txt").write_text("x" * HEAD_BYTES * 2)
    (line,) = paths.peek(PathQuery("line.txt")).lines
    assert len(line) < 1000


def test_compressed_files_are_looked_into(paths, folder):
    (folder / "a.csv.gz").write_bytes(gzip.compress(LINES.encode()))
    (folder / "a.csv.bz2").write_bytes(bz2.compress(LINES.encode()))
    (folder / "zeros.gz").write_bytes(gzip.compress(bytes(10_000_000)))
    assert paths.peek(PathQuery("a.csv.gz")).lines[0] == "id,name"
    assert paths.peek(PathQuery("a.csv.bz2")).guess.format == "csv"
    assert paths.peek(PathQuery("zeros.gz")).guess.format == "blob"
    (folder / "broken.gz").write_bytes(gzip.compress(LINES.encode())[:-9])
    with pytest.raises(BadRequestError, match="cannot be read"):
        paths.peek(PathQuery("broken.gz"))


def test_other_paths_say_why(paths, folder):
    os.mkfifo(folder / "pipe")
    (folder / "empty").mkdir()
    with pytest.raises(BadRequestError, match="not a regular file"):
        paths.peek(PathQuery("pipe"))  # a reader of it would wait for ever
    with pytest.raises(NotFoundError, match="has no file"):
        paths.peek(PathQuery("empty"))
    with pytest.raises(NotFoundError, match="does not exist"):
        paths.peek(PathQuery("missing.csv"))
    with pytest.raises(NotFoundError, match="matches no file"):
        paths.peek(PathQuery("missing*.csv"))
    with pytest.raises(BadRequestError, match="alternatives"):
        paths.peek(PathQuery("{a,b}.csv"))
    assert list_folder(folder / "sales.csv") == []
    assert list_folder(folder / "a\x00b") == []
