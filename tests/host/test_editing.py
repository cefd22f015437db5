"""Editing sessions from other processes, with the shipped plugins and their real workers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localcdap.api.errors import NotFoundError
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.pipeline.editing.edits import SetProperty
from localcdap.pipeline.editing.service import OpenRequest
from tests.conftest import REPOSITORY
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, stage

_CLIENT = """
import sys
from pathlib import Path
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.pipeline.editing.edits import Connect, Disconnect, RemoveStage, SetProperty, CompoundEdit, Undo

with open_in_process(Home(Path(sys.argv[1]))) as cdap:
    assert not cdap.is_host
    id = sys.argv[2]
    broken = cdap.editing.apply(id, SetProperty("Slim", "convert", "name:bogus"), 60)
    print(broken.stages["Slim"].errors[0].field, broken.valid)
    print(cdap.editing.apply(id, Undo(), 60).valid)
    edits = [Disconnect("In", "Slim"), RemoveStage("Slim"), Connect("In", "Out")]
    print(cdap.editing.apply(id, CompoundEdit(edits), 60).removed)
"""


@pytest.fixture
def document(tmp_path: Path) -> dict:
    stages = [
        csv_source("In", tmp_path / "in.csv", schema(id="int", name="string")),
        stage("Slim", "transform", "Projection", drop="name"),
        json_sink("Out", tmp_path / "out"),
    ]
    return pipeline(stages, ("In", "Slim"), ("Slim", "Out"))


def test_clients_and_host_edit_the_same_session(
    tmp_path: Path, fresh_home: Callable[[Path], Path], document: dict
):
    home = fresh_home(tmp_path / "home")
    with open_in_process(Home(home)) as cdap:
        opened = cdap.editing.open(OpenRequest(document), 60)
        assert opened.change.valid
        client = subprocess.run(
            [sys.executable, "-c", _CLIENT, str(home), opened.id],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=REPOSITORY,
            check=False,
        )
        assert client.returncode == 0, client.stderr
        assert client.stdout.splitlines() == ["convert False", "True", "['Slim']"]
        change = cdap.editing.get_changes(opened.id, opened.change.revision)
        assert change.removed == ["Slim"]
        assert change.stages["Out"].input_schemas["In"].field_names == ["id", "name"]
        written = json.loads(cdap.editing.get_document(opened.id))
        assert written["config"]["connections"] == [{"from": "In", "to": "Out"}]


@pytest.mark.slow
def test_sessions_see_plugins_that_are_dropped_in(tmp_path: Path, document: dict):
    home = tmp_path / "home"
    document["config"]["stages"][1]["plugin"] = {"type": "transform", "name": "Fresh"}
    with open_in_process(Home(home)) as cdap:
        opened = cdap.editing.open(OpenRequest(document), 60)
        assert opened.change.stages["Slim"].errors[0].type == "Artifact Not Found"
        plugins = home / "plugins"
        plugins.mkdir(parents=True, exist_ok=True)
        (plugins / "fresh-1.0.0.py").write_text(
            "from localcdap.api import Transform, plugin\n\n\n"
            '@plugin(type="transform", name="Fresh", description="Passes on.")\n'
            "class Fresh(Transform):\n"
            "    def configure(self, stage):\n"
            "        stage.output_schema = stage.input_schema\n"
        )
        cdap.artifacts.sync()
        end = time.monotonic() + 60
        while not cdap.editing.wait_until_checked(opened.id).valid and time.monotonic() < end:
            time.sleep(0.02)
        assert cdap.editing.wait_until_checked(opened.id).stages["Slim"].errors == []


@pytest.mark.slow
def test_a_session_ends_with_its_host(tmp_path: Path, document: dict):
    with open_in_process(Home(tmp_path / "home")) as cdap:
        key = cdap.editing.open(OpenRequest(document), 60).id
    with (
        open_in_process(Home(tmp_path / "home")) as cdap,
        pytest.raises(NotFoundError, match="no editing session") as raised,
    ):
        cdap.editing.apply(key, SetProperty("Slim", "drop", "id"))
    assert raised.value.corrective_action == "Open the pipeline again."
