"""A plugin that imports an old path of localcdap: what its author sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.artifacts.authoring import source, write
from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, schema, stage
from tests.e2e.pipelines import write as write_pipeline
from tests.e2e.program import Program

pytestmark = pytest.mark.usefixtures("hosted")


def test_artifacts_shows_the_old_paths_that_a_dropped_in_file_uses(program: Program):
    text = "from localcdap.api.lookup import TableShape\n" + source("Old")
    file = write(program.home / "plugins" / "old-1.0.0.py", text)

    listed = program("artifacts")
    assert listed.code == 0, listed.err
    warning = (
        "old-1.0.0.py:1 uses localcdap.api.lookup, which has moved to localcdap.api.tables; change it, "
        "because the next version of localcdap does not have the old path."
    )
    assert listed.out.endswith(f"\n\n{file}\n{warning}\n")

    (old,) = [each for each in program("artifacts", "--json").json if each["name"] == "old"]
    assert (old["error"], old["warnings"]) == (None, [warning])
    assert program("plugin", "transform", "Old").code == 0
    assert program("artifacts", "--errors", "--json").json == []


OLD = """
from localcdap.api import Transform, plugin
from localcdap.api.rows import Row

@plugin(name="Old", description="Adds where its classes come from.")
class Old(Transform):
    def configure(self, stage):
        from localcdap.api.table_writes import TableWrite

        assert TableWrite.__module__ == "localcdap.api.tables"
        stage.output_schema = stage.input_schema

    def transform(self, record, emit):
        from localcdap.api import lookup

        emit({"line": f"{Row.__module__} {lookup.TableShape.__module__}"})
"""


@pytest.mark.spark
def test_old_paths_work_in_plugin_workers_runs_and_workers_of_spark(
    program: Program, tmp_path: Path
):
    write(program.home / "plugins" / "old-1.0.0.py", OLD)
    (tmp_path / "in.csv").write_text("a\n")
    line = schema(line="string")
    old = stage("Old", "transform", "Old", "old")
    old["plugin"]["artifact"]["scope"] = "USER"
    stages = [csv_source("In", tmp_path / "in.csv", line), old, json_sink("Out", tmp_path / "out")]
    file = write_pipeline(pipeline(stages, ("In", "Old"), ("Old", "Out")), tmp_path / "p.json")

    valid = program("validate", file, "--json").json
    assert (valid["errors"], valid["warnings"]) == ([], [])
    done = program("run", file, "--json")
    assert done.code == 0, done.err
    assert json_records(tmp_path / "out") == [
        {"line": "localcdap.api.directive.rows localcdap.api.tables"}
    ]
