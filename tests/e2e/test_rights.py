"""Only the user can read an instance; files that a pipeline writes elsewhere keep the user's umask."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, write
from tests.e2e.program import Program


def find_readable(home: Path) -> list[str]:
    """The files of an instance that another user can reach, except for what its user made."""
    found = []
    for each in home.iterdir():
        if each.stat().st_mode & 0o077:
            found += find_readable(each) if each.is_dir() else [str(each)]
    return found


@pytest.fixture(autouse=True)
def usual_umask():
    previous = os.umask(0o022)
    yield
    os.umask(previous)


@pytest.mark.slow
@pytest.mark.spark
def test_an_instance_is_private_and_the_files_of_a_run_are_not(program: Program, tmp_path: Path):
    (program.home / "localcdap.duckdb").chmod(0o600)  # the fixture copied it
    shutil.rmtree(program.home / "cache")  # it holds links of the fixture
    source = tmp_path / "in.csv"
    source.write_text("1\n2\n")
    document = pipeline(
        [csv_source("In", source, schema(id="int")), json_sink("Out", tmp_path / "out")],
        ("In", "Out"),
    )

    assert program("run", write(document, tmp_path / "p.json")).code == 0
    assert program("preferences", "set", "a=b").code == 0
    assert program("backup").code == 0

    assert find_readable(program.home) == []
    parts = list((tmp_path / "out").rglob("part-*"))
    assert parts
    assert {part.stat().st_mode & 0o777 for part in parts} == {0o644}


def test_what_an_older_version_left_becomes_private(program: Program):
    database = program.home / "localcdap.duckdb"
    database.chmod(0o644)

    assert program("runs").code == 0
    assert database.stat().st_mode & 0o077 == 0
