"""Runs on a cluster that has nothing of localcdap; see :mod:`tests.runs.cluster`."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from localcdap.runs.model import Run, RunRequest
from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, schema, stage
from tests.e2e.program import wait_until
from tests.run_processes import run_process
from tests.runs.cluster import TOKEN, cluster

pytestmark = [pytest.mark.systems, pytest.mark.timeout(400)]

ROW = schema(id="int", name=["string", "null"])
FOUND = schema(id="int", name=["string", "null"], name_name=["string", "null"])
LOOKING = """
def transform(record, emitter, context):
    found = context.getLookup("people").lookup(record["id"])
    emitter.emit({"id": record["id"], "name": str(record["id"]) if found["name"] == record["name"] else None})
"""
PLUGIN = """
import time
from pathlib import Path

import localcdap
from localcdap.api import PluginConfig, Transform, field, plugin

from .words import loud


@plugin(type="transform", name="Loud", description="Says where its code is.")
class Loud(Transform):
    class Config(PluginConfig):
        marker: str = field("File that grows while a record is there.", default="")

    def configure(self, stage):
        stage.output_schema = stage.input_schema

    def transform(self, record, emit):
        for _ in range(1000 if self.config.marker else 0):
            with Path(self.config.marker).open("a") as file:
                file.write(".")
            time.sleep(0.1)
        if record["name"] is None:
            emit.error(record, 7, localcdap.__file__)
        else:
            emit(record | {"name": loud(record["name"])})
"""


KINDS = """
import io

from localcdap.api import BatchReducibleAggregator, InputFormat, OutputFormat, Schema, plugin


@plugin(name="spoken", description="Names and numbers of words.")
class Spoken(InputFormat):
    def get_schema(self, context):
        return Schema.record("said", [("who", Schema.STRING), ("words", Schema.INT)])

    def read(self, file, schema):
        for line in io.TextIOWrapper(file.content):
            who, _, said = line.strip().partition(": ")
            yield {"who": who, "words": len(said.split())}


@plugin(name="dashed", description="Values between dashes.")
class Dashed(OutputFormat):
    extension = ".txt"

    def write(self, content, records, schema):
        for record in records:
            content.write(" - ".join(map(str, record.values())).encode() + b"\\n")


@plugin(name="Sums", description="How many words each has said.")
class Sums(BatchReducibleAggregator):
    def configure(self, stage):
        stage.output_schema = stage.input_schema

    def group_by(self, record):
        return [record["who"]]

    def initialize_aggregate_value(self, record):
        return record["words"]

    def merge_values(self, value, record):
        return value + record["words"]

    def merge_partitions(self, value, other):
        return value + other

    def finalize(self, key, value, emit):
        emit({"who": key, "words": value})
"""


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the cluster."""
    return tmp_path_factory.mktemp("elsewhere") / "cluster"


@pytest.fixture(scope="module")
def url(there: Path) -> Iterator[str]:
    with cluster(there) as url:
        yield url


@pytest.fixture
def home(tmp_path: Path, url: str) -> Home:
    folder = tmp_path / "home"
    package = folder / "plugins" / "voices-1.0.0" / "voices"
    package.mkdir(parents=True)
    (package.parent / "pyproject.toml").write_text(
        '[project]\nname = "voices"\nversion = "1.0.0"\n'
    )
    (package / "__init__.py").write_text("")
    (package / "words.py").write_text("def loud(text):\n    return text.upper()\n")
    (package / "loud.py").write_text(PLUGIN)
    (folder / "localcdap.toml").write_text(
        f'[locations]\n"/data" = "elsewhere"\n[profiles.cluster]\nremote = "{url}"\n'
        f'locations = {{"gs://lake" = "{tmp_path}/lake"}}\npackages = ["fastavro"]\n'
        f'[profiles.bare]\nremote = "{url}"\n[namespaces.default]\nprofile = "cluster"\n'
    )
    return Home(folder)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "a.csv").write_text("1,ann\n2,\n")
    (folder / "b.csv").write_text("3,bob\n")
    return folder


def run(cdap: Cdap, document: dict[str, Any], profile: str | None = None) -> Run:
    run = cdap.runs.start(RunRequest(document, profile=profile))
    while not run.status.is_end:
        run = cdap.runs.wait(run.run, run.version, 30)
    return run


def voice(**properties: str) -> dict[str, Any]:
    made = stage("Loud", "transform", "Loud", "voices", **properties)
    made["plugin"]["artifact"]["scope"] = "USER"
    return made


def filling() -> dict[str, Any]:
    stages = [
        csv_source("In", Path("gs://lake/*.csv"), ROW).copy(),
        voice(),
        stage("Errors", "errortransform", "ErrorCollector", messageField="where", codeField="code"),
        json_sink("Out", Path("gs://lake/out")),
        json_sink("Bad", Path("gs://lake/bad")),
        stage("People", "batchsink", "Table", name="people", schema__row__field="id"),
    ]
    for each in (stages[0], *stages[3:5]):
        properties = each["plugin"]["properties"]
        properties["path"] = properties["path"].replace("gs:/", "gs://").replace("///", "//")
    return pipeline(
        stages,
        ("In", "Loud"),
        ("Loud", "Out"),
        ("Loud", "People"),
        ("Loud", "Errors"),
        ("Errors", "Bad"),
    )


def emptying(lake: Path) -> dict[str, Any]:
    """A pipeline that reads the table, and looks into it."""
    return pipeline(
        [
            stage("People", "batchsource", "Table", name="people", schema=ROW),
            stage(
                "Avro", "batchsink", "File", referenceName="o", path=f"{lake}/avro", format="avro"
            ),
            json_sink("Json", lake / "json"),
            stage("Look", "transform", "PythonEvaluator", lookup='{"people": {}}', script=LOOKING),
            stage(
                "Wrangle",
                "transform",
                "Wrangler",
                "wrangler-transform",
                directives="table-lookup :name 'people'",
                schema=FOUND,
            ),
            json_sink("Found", lake / "found"),
        ],
        ("People", "Avro"),
        ("People", "Json"),
        ("People", "Look"),
        ("Look", "Wrangle"),
        ("Wrangle", "Found"),
    )


def test_records_code_and_tables_go_there_and_back(home: Home, lake: Path, there: Path):
    reading = emptying(lake)
    for module in ("localcdap", "msgspec"):
        command = [there / "python", "-c", f"import {module}"]
        tried = subprocess.run(command, cwd=there, capture_output=True)
        assert b"ModuleNotFoundError" in tried.stderr

    with open_in_process(home) as cdap:
        filled = run(cdap, filling())
        without = run(cdap, reading, "bare")
        read = run(cdap, reading)
        log = [
            line.text for each in (filled, without, read) for line in cdap.runs.read_log(each.run)
        ]
        rows = cdap.tables.read_rows("default", "people", 10).rows

    assert filled.status is RunStatus.COMPLETED, filled.error
    assert filled.profile == "cluster"
    counts = {name: (c.records_in, c.records_out, c.errors) for name, c in filled.stages.items()}
    assert counts["Loud"] == (3, 2, 1)
    assert [r["name"] for r in json_records(lake / "out")] == ["ANN", "BOB"]
    assert all(file.name.startswith("part-") for file in (lake / "out").iterdir())
    (bad,) = json_records(lake / "bad")
    assert bad["where"].startswith(str(there / "tmp")), "the code of the workers is what was sent"
    assert rows == [[1, "ANN"], [3, "BOB"]]

    assert without.error
    assert (
        without.error.message == "Stage 'Avro': Spark's Python workers have no module 'fastavro'."
    )
    assert read.status is RunStatus.COMPLETED, read.error
    assert [r["id"] for r in json_records(lake / "json")] == [1, 3]
    assert [r["name_name"] for r in json_records(lake / "found")] == ["ANN", "BOB"]
    assert list((lake / "avro").glob("part-*.avro"))
    assert sorted(path.name for path in lake.iterdir()) == [
        "a.csv",
        "avro",
        "b.csv",
        "bad",
        "found",
        "json",
        "out",
    ]
    assert not any(TOKEN in line for line in log)
    for file in home.path.rglob("*"):
        assert (
            file.name == "localcdap.toml"
            or not file.is_file()
            or TOKEN.encode() not in (file.read_bytes())
        ), file


def test_a_killed_run_leaves_nothing_at_work_or_half_written(home: Home, lake: Path, url: str):
    marker = lake.parent / "marker"
    document = pipeline(
        [
            csv_source("In", lake, ROW),
            voice(marker=str(marker)),
            json_sink("Out", lake.parent / "out"),
        ],
        ("In", "Loud"),
        ("Loud", "Out"),
    )
    with open_in_process(home) as cdap:
        started = cdap.runs.start(RunRequest(document))
        wait_until(marker.exists, "a record comes to the plugin")
        assert [p.name for p in lake.parent.iterdir() if p.name.startswith(".out")]
        run_process(started.run).kill()
        ended = started
        while not ended.status.is_end:
            ended = cdap.runs.wait(ended.run, ended.version, 30)

    assert ended.status is RunStatus.FAILED
    assert ended.error
    assert "ended before the run did" in ended.error.message
    assert not [p.name for p in lake.parent.iterdir() if "out" in p.name]
    size = marker.stat().st_size
    time.sleep(1)
    assert marker.stat().st_size == size, "the task on the cluster has ended"


def test_formats_and_groups_of_artifacts_work_there(home: Home, lake: Path):
    (home.path / "plugins" / "kinds-1.0.0.py").write_text(KINDS)
    (lake / "said").mkdir()
    (lake / "said" / "one.txt").write_text("ann: a b c\nbob: d\n")
    (lake / "said" / "two.txt").write_text("ann: e\n")
    said = schema(who="string", words="int")
    source = {"referenceName": "i", "path": "gs://lake/said", "format": "spoken", "schema": said}
    sink = {"referenceName": "o", "path": "gs://lake/sums", "format": "dashed", "schema": said}
    document = pipeline(
        [
            {"name": "In", "plugin": {"type": "batchsource", "name": "File", "properties": source}},
            {"name": "Sums", "plugin": {"type": "batchaggregator", "name": "Sums"}},
            {"name": "Out", "plugin": {"type": "batchsink", "name": "File", "properties": sink}},
        ],
        ("In", "Sums"),
        ("Sums", "Out"),
    )

    with open_in_process(home) as cdap:
        ran = run(cdap, document)

    assert ran.status is RunStatus.COMPLETED, ran.error
    assert (ran.stages["Sums"].records_in, ran.stages["Sums"].records_out) == (3, 2)
    written = [file.read_text() for file in (lake / "sums").iterdir()]
    assert sorted("".join(written).splitlines()) == ["ann - 4", "bob - 1"]
