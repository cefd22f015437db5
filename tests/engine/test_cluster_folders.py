"""Folders of a cluster, for which the local Spark server stands in: each step is a task of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from localcdap.api.errors import ConflictError, EngineError
from localcdap.engine.cluster.folders import ClusterFolders
from localcdap.engine.commit import Recovery, Staging, recover_commit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def folders(spark: SparkSession) -> ClusterFolders:
    return ClusterFolders(spark)


@pytest.fixture
def run_directory(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def test_what_was_staged_appears_together_without_markers(folders, run_directory, tmp_path):
    staging = Staging(run_directory, "r1", folders)
    for name in ("a b", "deep/b"):
        place = Path(staging.create_directory(str(tmp_path / name)))
        (place / "part-0").write_text(name)
        (place / "_SUCCESS").touch()
        (place / ".part-0.crc").touch()
    assert not (tmp_path / "a b").exists()

    staging.commit([])

    assert [p.name for p in (tmp_path / "a b").iterdir()] == ["part-0"]
    assert (tmp_path / "deep/b/part-0").read_text() == "deep/b"
    assert recover_commit(run_directory, folders)[0] is Recovery.COMMITTED, "again changes nothing"


def test_spark_writes_where_its_job_directory_is(folders, run_directory, tmp_path, spark):
    staging = Staging(run_directory, "r1", folders)
    place = staging.create_directory(str(tmp_path / "out"), written_by_spark=True)
    assert (Path(place) / "_temporary/0").is_dir()

    spark.range(3).write.mode("append").json(place)
    staging.commit([])

    assert all(p.suffix == ".json" for p in (tmp_path / "out").iterdir())


def test_nothing_stays_of_what_was_not_decided(folders, run_directory, tmp_path):
    place = Path(Staging(run_directory, "r1", folders).create_directory(str(tmp_path / "out")))
    (place / "part-0").touch()

    assert recover_commit(run_directory, folders)[0] is Recovery.ROLLED_BACK
    assert not place.exists()
    assert recover_commit(run_directory, folders)[0] is Recovery.ROLLED_BACK


@pytest.mark.parametrize("scheme", ["", "file:"])
def test_a_place_that_is_taken(folders, run_directory, tmp_path, scheme):
    taken = tmp_path / "taken"
    taken.mkdir()
    (tmp_path / "file").touch()
    staging = Staging(run_directory, "r1", folders)
    final = str(taken)
    staging.create_directory(final)
    (taken / "x").write_text("x")

    with pytest.raises(ConflictError, match="already exists and is not empty"):
        staging.commit([])
    with pytest.raises(ConflictError, match="already exists and is not empty"):
        Staging(run_directory, "r2", folders).create_directory(f"{scheme}{taken}")
    with pytest.raises(ConflictError, match="the file"):
        Staging(run_directory, "r3", folders).create_directory(str(tmp_path / "file"))
    with pytest.raises(ConflictError, match="two sinks"):
        staging.create_directory(final)


def test_a_url_is_written_in_place(folders, run_directory, tmp_path):
    staging = Staging(run_directory, "r1", folders)
    url = f"file:{tmp_path}/new"

    assert staging.create_directory(url) == url
    with pytest.raises(ConflictError, match="two sinks"):
        staging.create_directory(url)
    assert staging.commit([]).moves == []


def test_a_place_that_cannot_be_made(folders, run_directory):
    with pytest.raises(EngineError, match="cannot use a folder") as caught:
        Staging(run_directory, "r1", folders).create_directory("/proc/none/out")

    assert "/proc/none" in caught.value.message
