"""File sets and streams: partitions by time, snapshots, files changed in a window of time."""

from __future__ import annotations

import datetime
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.schema import Field, Schema
from localcdap.datasets.model import DatasetUpdate
from localcdap.datasets.sql import SqlRequest
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.pipeline.macros.parser import LOGICAL_START_TIME
from localcdap.pipeline.service import PipelineRequest
from localcdap.runs.model import Run
from localcdap.testing.instance import TemporaryInstance

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["string", "null"]}],
    }
)
CLF = '1.2.3.4 - bob [05/Nov/2014:10:11:12 +0100] "GET / HTTP/1.1" 200 - "-" "curl/8"'

FORMATS = [
    ({}, "hä", {"body": [104, -61, -92]}),
    ({"format": "text"}, "hä", {"body": "hä"}),
    (
        {"format": "clf"},
        CLF,
        {
            "remote_host": "1.2.3.4",
            "remote_login": None,
            "auth_user": "bob",
            "request_time": "05/Nov/2014:10:11:12 +0100",
            "request": "GET / HTTP/1.1",
            "status": 200,
            "content_length": None,
            "referrer": None,
            "user_agent": "curl/8",
        },
    ),
]
"""Properties of a stream, a line in it, its event."""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, cdap_engine_directory):
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        mapped = "".join(f'"stream://mapped{n}" = "elsewhere/{n}"\n' for n in range(len(FORMATS)))
        made.settings(f"[locations]\n{mapped}")
        yield made


def stage(type: str, name: str, /, **properties: str) -> dict[str, Any]:
    return {"type": type, "name": name, "properties": properties}


def pipeline(*pairs: tuple[dict[str, Any], dict[str, Any]]) -> str:
    """Of each source with its sink: the stages In and Out, In1 and Out1 … An action begins all of them,
    so that they are one pipeline.
    """
    ends = [str(number or "") for number in range(len(pairs))]
    nothing = stage("action", "FileDelete", path="nothing", continueOnError="true")
    stages, connections = [{"name": "Begin", "plugin": nothing}], []
    for end, (source, sink) in zip(ends, pairs, strict=True):
        stages.append({"name": f"In{end}", "plugin": source})
        stages.append({"name": f"Out{end}", "plugin": sink})
        connections.append({"from": "Begin", "to": f"In{end}"})
        connections.append({"from": f"In{end}", "to": f"Out{end}"})
    config = {"stages": stages, "connections": connections}
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def write(instance: TemporaryInstance, *written: tuple[str, dict[str, Any]]) -> Run:
    """Write each text of CSV into its sink."""
    pairs = []
    for number, (text, sink) in enumerate(written):
        given = f"in{number}.csv"
        (instance.home.path / given).write_text(text)
        source = stage(
            "batchsource", "File", referenceName="r", path=given, format="csv", schema=SCHEMA
        )
        pairs.append((source, sink))
    run = instance.run(pipeline(*pairs))
    assert run.error is None
    return run


def read(instance: TemporaryInstance, *sources: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The records of each source."""
    outs = [f"out-{time.time_ns()}-{number}" for number in range(len(sources))]
    sinks = [stage("batchsink", "File", referenceName=out, path=out, format="json") for out in outs]
    assert instance.run(pipeline(*zip(sources, sinks, strict=True))).error is None
    return [_records(instance.home.path / out) for out in outs]


def query_rows(instance: TemporaryInstance, sql: str) -> list[tuple[Any, ...]]:
    found = instance.cdap.sql.query(SqlRequest(sql)).to_table()
    return [tuple(row.values()) for row in found.to_pylist()]


def _records(folder: Path) -> list[dict[str, Any]]:
    lines = [line for file in folder.iterdir() for line in file.read_text().splitlines()]
    return sorted((json.loads(line) for line in lines), key=str)


@pytest.mark.slow
@pytest.mark.spark
def test_partitions_of_the_time_are_read(instance):
    def sink(format: str, **properties: str) -> dict[str, Any]:
        return stage("batchsink", f"TPFS{format}", name=f"timed-{format}", **properties)

    def source(format: str, **window: str) -> dict[str, Any]:
        named = {"name": f"timed-{format}", "schema": SCHEMA}
        return stage("batchsource", f"TPFS{format}", **named, **window)

    formats = ("Avro", "Parquet")
    new = [("1,x\n", sink(format, compressionCodec="Snappy")) for format in formats]
    old = [("2,\n", sink(format, partitionOffset="2h")) for format in formats]
    write(instance, *new, *old)
    time.sleep(0.01)  # the window ends before the run that reads

    windows = ({"duration": "1h"}, {"duration": "1h", "delay": "90m"}, {"duration": "1d"})
    asked = [source(format, **window) for format in formats for window in windows]
    one, two = {"a": 1, "b": "x"}, {"a": 2, "b": None}
    assert read(instance, *asked) == [[one], [two], [one, two]] * 2


@pytest.mark.spark
def test_partitions_are_named_after_their_time_and_old_ones_removed(instance):
    folder = instance.home.path / "filesets" / "default" / "mine"
    old = folder / "2015-01-20" / "20-42.1421786520000"
    old.mkdir(parents=True)
    before = _day_in_tokyo()
    sink = stage(
        "batchsink",
        "TPFSOrc",
        name="t",
        basePath="mine",
        filePathFormat="yyyy/'day-'dd",
        timeZone="Asia/Tokyo",
        cleanPartitionsOlderThan="30d",
    )
    (instance.home.path / "wrong.csv").write_text("x,1\n")
    given = {"referenceName": "r", "path": "wrong.csv", "format": "csv", "schema": SCHEMA}
    failed = instance.run(pipeline((stage("batchsource", "File", **given), sink)))
    assert failed.error is not None
    assert old.exists(), "nothing is removed by a run that fails"

    first = write(instance, ("1,x\n", sink))
    assert not old.exists()
    assert any((folder / day).is_dir() for day in (before, _day_in_tokyo()))
    source = {"name": "t", "basePath": "mine", "duration": "1h", "schema": SCHEMA}
    assert read(instance, stage("batchsource", "TPFSOrc", **source)) == [[{"a": 1, "b": "x"}]]
    assert instance.cdap.datasets.describe("default", "t").properties["data.use.existing"] == "true"

    at = {LOGICAL_START_TIME: str(first.starting)}
    again = instance.run(pipeline((stage("batchsource", "File", **given), sink)), at)
    assert "already has a partition with the key: {year=" in again.error.message


def _day_in_tokyo() -> str:
    now = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=9)))
    return f"{now.year}/day-{now.day:02}"


@pytest.mark.slow
@pytest.mark.spark
def test_the_latest_snapshot_is_read(instance):
    sink = stage("batchsink", "SnapshotAvro", name="snap")
    text = stage("batchsink", "SnapshotText", name="lines", delimiter="|")
    write(instance, ("1,x\n2,y\n", sink))
    write(instance, ("3,z\n", sink), ("1,x\n", text))
    source = stage("batchsource", "SnapshotAvro", name="snap", schema=SCHEMA)
    assert read(instance, source, stage("batchsource", "SnapshotText", name="lines")) == [
        [{"a": 3, "b": "z"}],
        [{"offset": 0, "body": "1|x"}],
    ]

    query = "SELECT a, b, dense_rank() OVER (ORDER BY snapshot) FROM snap ORDER BY ALL"
    assert query_rows(instance, query) == [(1, "x", 1), (2, "y", 1), (3, "z", 2)]
    assert query_rows(instance, "SELECT a, b FROM lines") == [(1, "x")]
    found = instance.cdap.datasets.describe("default", "snap")
    assert (found.type, found.rows) == ("partitionedFileSet", 2)
    usage = instance.cdap.datasets.list_usage("default", "snap")
    assert sorted((each.access.name, each.runs) for each in usage) == [("READ", 1), ("WRITE", 2)]

    # A source without a schema reads with that of the dataset, as it is now.
    fields = [*Schema.parse(SCHEMA), Field("c", Schema.LONG.as_nullable)]
    wider = {"schema": str(Schema.record("r", fields))}
    instance.cdap.datasets.update(DatasetUpdate("snap", wider, replaces=False))
    assert read(instance, stage("batchsource", "SnapshotAvro", name="snap")) == [
        [{"a": 3, "b": "z", "c": None}]
    ]


@pytest.mark.spark
def test_a_file_set_without_a_dataset_has_the_partitions_that_its_folders_name(instance):
    folder = instance.home.path / "filesets" / "default" / "copied"
    for name, text in (("1421786520000", "1"), ("1421786530000", "2")):
        (folder / name).mkdir(parents=True)
        (folder / name / "part-0").write_text(f"{text}\n")
    assert read(instance, stage("batchsource", "SnapshotText", name="copied")) == [
        [{"offset": 0, "body": "2"}]
    ]
    found = instance.cdap.datasets.describe("default", "copied")
    assert (found.type, found.folder) == ("externalDataset", None)


def test_a_deployment_creates_the_file_set(instance):
    given = {"referenceName": "r", "path": "in.csv", "format": "csv", "schema": SCHEMA}
    source = stage("batchsource", "File", **given)
    for format, answer in (("Avro", []), ("Parquet", ["Out"])):
        sink = stage("batchsink", f"TPFS{format}", name="deployed")
        found = instance.cdap.studio.validate_pipeline(PipelineRequest(pipeline((source, sink))))
        assert [each.stage for each in found.errors] == answer
        if not answer:
            request = DeployRequest(pipeline((source, sink)), name="timed")
            assert not instance.cdap.applications.deploy(request).errors
    found = instance.cdap.datasets.describe("default", "deployed")
    assert (found.type, found.files) == ("timePartitionedFileSet", 0)
    assert found.schema == Schema.parse(SCHEMA)


@pytest.mark.spark
def test_a_file_set_without_partitions_is_reported(instance):
    source = stage("batchsource", "SnapshotAvro", name="none", schema=SCHEMA)
    run = instance.run(pipeline((source, stage("batchsink", "Trash", referenceName="t"))))
    assert "file set 'none' has no partitions in" in run.error.message
    assert run.error.stage == "In"


@pytest.mark.spark
def test_events_of_the_time_are_read(instance):
    new, old = files(instance.home.path / "streams" / "default" / "s", "1,x\n", "2,y\n")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    given = {"name": "s", "format": "csv", "schema": SCHEMA}
    hour, day = (stage("batchsource", "Stream", duration=each, **given) for each in ("1h", "1d"))
    (event,), both = read(instance, hour, day)
    assert event == {"ts": new.stat().st_mtime_ns // 1_000_000, "headers": {}, "a": 1, "b": "x"}
    assert len(both) == 2


@pytest.mark.spark
def test_formats_of_events(instance):
    sources = []
    for number, (format, line, _) in enumerate(FORMATS):
        files(instance.home.path / "elsewhere" / str(number), f"{line}\n")
        asked = {"name": f"mapped{number}", "duration": "1d"} | format
        sources.append(stage("batchsource", "Stream", **asked))
    for (_, _, event), found in zip(FORMATS, read(instance, *sources), strict=True):
        (one,) = found
        del one["ts"], one["headers"]
        assert one == event


def files(folder: Path, *texts: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number, text in enumerate(texts):
        file = folder / f"{number}.txt"
        file.write_text(text)
        made.append(file)
    return made


def test_wrong_times_formats_and_zones_are_reported_at_once(instance):
    source = stage("batchsource", "Stream", name="s", duration="day", delay="1x", format="grok")
    sink = stage(
        "batchsink",
        "TPFSAvro",
        name="wrong",
        partitionOffset="1",
        timeZone="Mars",
        filePathFormat="b",
    )
    answer = instance.cdap.studio.validate_pipeline(PipelineRequest(pipeline((source, sink))))
    assert [(failure.stage, failure.message.split(":")[0]) for failure in answer.errors] == [
        ("In", "'day' is not a duration."),
        ("In", "'1x' is not a duration."),
        ("In", "Format 'grok' of streams is not supported here."),
        ("Out", "'1' is not a duration."),
        ("Out", "Invalid 'timeZone'"),
        ("Out", "Invalid 'filePathFormat'"),
        ("Out", "Input schema of stage 'Out' is unknown because stage 'In' is invalid."),
    ]
