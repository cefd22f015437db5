"""A run on a cluster in short; see test_cluster for more.

The cluster has a server of its own. The tests' shared server does not keep the archives of its sessions
apart: it would unpack those of this run while the tasks of other tests unpack them too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.runs.model import RunRequest
from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, schema
from tests.runs.cluster import cluster

ROW = schema(id="int")


@pytest.mark.systems
def test_files_of_a_run_on_a_cluster_appear_there_at_its_end(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "in.csv").write_text("1\n2\n")
    stages = [
        csv_source("In", tmp_path / "in.csv", ROW),
        json_sink("Out", tmp_path / "out"),
    ]

    with cluster(tmp_path / "cluster") as url:
        (home / "localcdap.toml").write_text(f'[profiles.cluster]\nremote = "{url}"\n')
        with open_in_process(Home(home)) as cdap:
            run = cdap.runs.start(RunRequest(pipeline(stages, ("In", "Out")), profile="cluster"))
            while not run.status.is_end:
                run = cdap.runs.wait(run.run, run.version, 30)

    assert run.status is RunStatus.COMPLETED, run.error
    assert [record["id"] for record in json_records(tmp_path / "out")] == [1, 2]
    assert not list(tmp_path.glob(".out*"))
