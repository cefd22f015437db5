"""Runs on a cluster whose process is gone, as their host ends them."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api.serialization.value_types import unpack
from localcdap.engine.commit import Staging
from localcdap.engine.driver.recovery import recover_run, stop_spark_work
from localcdap.engine.messages.orders import SETTLED, SPOOL, WorkOrder, write_order
from localcdap.engine.messages.spool import Failed, Message, RunStatus
from localcdap.messaging.consumer import SpoolReader


@pytest.fixture
def run_directory(tmp_path: Path) -> Path:
    """Of a run on a cluster that does not answer; a sink had begun to write there."""
    folder = tmp_path / "run"
    folder.mkdir()
    order = WorkOrder(
        run_id="r1",
        namespace="default",
        pipeline="p",
        document="{}",
        plugins={},
        arguments={},
        logical_start_ms=0,
        engine_url="sc://localhost:1/;token=hidden",
        base_directory=str(tmp_path),
        remote=True,
    )
    write_order(folder, order)
    return folder


def failure(run_directory: Path) -> Failed:
    reader = SpoolReader(run_directory / SPOOL)
    (found,) = [m for _, d in reader.read() if isinstance(m := unpack(d, Message), Failed)]
    return found


@pytest.mark.slow
def test_what_a_cluster_out_of_reach_holds_is_reported(run_directory, tmp_path):
    staging = Staging(run_directory, "r1").create_directory(str(tmp_path / "out"))

    stop_spark_work(run_directory)

    assert recover_run(run_directory) is RunStatus.FAILED
    assert not (run_directory / SETTLED).exists()
    assert f"unfinished files in '{staging}'" in failure(run_directory).message
    assert Path(staging).exists(), "a folder of the same name on this machine is somebody else's"
    assert "hidden" not in str(failure(run_directory))


def test_a_decided_commit_that_cannot_be_finished_is_reported(run_directory, tmp_path):
    staging = Staging(run_directory, "r1")
    place = staging.create_directory(str(tmp_path / "out"))
    staging.commit([])

    assert recover_run(run_directory) is RunStatus.FAILED
    assert f"'{place}' to '{tmp_path}/out'" in (failure(run_directory).corrective_action or "")


def test_a_settled_run_ends_as_it_was_decided(run_directory, tmp_path):
    Staging(run_directory, "r1").create_directory(str(tmp_path / "out"))
    (run_directory / SETTLED).touch()

    assert recover_run(run_directory) is RunStatus.FAILED
    assert "out" not in failure(run_directory).message


def test_a_run_that_had_written_nothing(run_directory):
    assert recover_run(run_directory) is RunStatus.FAILED
    assert "cluster" not in failure(run_directory).message


def test_a_decided_commit_of_tables_needs_no_cluster(run_directory):
    Staging(run_directory, "r1").commit([])

    assert recover_run(run_directory) is RunStatus.COMPLETED
