"""File sets and streams: partitions by time, snapshots, files changed in a window of time."""

from __future__ import annotations

import datetime
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from localcdap.studio.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["string", "null"]}],
    }
)
CLF = '1.2.3.4 - bob [05/Nov/2014:10:11:12 +0100] "GET / HTTP/1.1" 200 - "-" "curl/8"'


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, cdap_engine_directory):
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        made.settings('[locations]\n"stream://mapped" = "elsewhere"\n')
        yield made


def stage(type: str, name: str, /, **properties: str) -> dict[str, Any]:
    return {"type": type, "name": name, "properties": properties}


def pipeline(source: dict[str, Any], sink: dict[str, Any]) -> str:
    stages = [{"name": "In", "plugin": source}, {"name": "Out", "plugin": sink}]
    config = {"stages": stages, "connections": [{"from": "In", "to": "Out"}]}
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def write(instance: TemporaryInstance, text: str, sink: str, /, **properties: str) -> Any:
    (instance.home.path / "in.csv").write_text(text)
    source = stage(
        "batchsource", "File", referenceName="r", path="in.csv", format="csv", schema=SCHEMA
    )
    run = instance.run(pipeline(source, stage("batchsink", sink, **properties)))
    assert run.error is None
    return run


def read(instance: TemporaryInstance, source: str, **properties: str) -> list[dict[str, Any]]:
    out = f"out-{time.time_ns()}"
    sink = stage("batchsink", "File", referenceName="o", path=out, format="json")
    run = instance.run(pipeline(stage("batchsource", source, **properties), sink))
    assert run.error is None
    files = sorted((instance.home.path / out).iterdir())
    return sorted((json.loads(line) for f in files for line in f.read_text().splitlines()), key=str)


@pytest.mark.spark
@pytest.mark.parametrize("format", ["Avro", "Parquet"])
def test_partitions_of_the_time_are_read(instance, format):
    name = f"timed-{format}"
    write(instance, "1,x\n", f"TPFS{format}", name=name, compressionCodec="Snappy")
    write(instance, "2,\n", f"TPFS{format}", name=name, partitionOffset="2h")
    time.sleep(0.01)  # the window ends before the run that reads

    window = {"name": name, "schema": SCHEMA}
    assert read(instance, f"TPFS{format}", duration="1h", **window) == [{"a": 1, "b": "x"}]
    assert read(instance, f"TPFS{format}", duration="1h", delay="90m", **window) == [
        {"a": 2, "b": None}
    ]
    assert len(read(instance, f"TPFS{format}", duration="1d", **window)) == 2


@pytest.mark.spark
def test_partitions_are_named_after_their_time_and_old_ones_removed(instance):
    folder = instance.home.path / "mine"
    old = folder / "2015-01-20" / "20-42.1421786520000"
    old.mkdir(parents=True)
    write(
        instance,
        "1,x\n",
        "TPFSOrc",
        name="t",
        basePath="mine",
        filePathFormat="yyyy/'day-'dd",
        timeZone="Asia/Tokyo",
        cleanPartitionsOlderThan="30d",
    )
    now = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=9)))
    assert not old.exists()
    assert (folder / str(now.year) / f"day-{now.day:02}").is_dir()
    found = read(instance, "TPFSOrc", name="t", basePath="mine", duration="1h", schema=SCHEMA)
    assert found == [{"a": 1, "b": "x"}]


@pytest.mark.spark
def test_the_latest_snapshot_is_read(instance):
    write(instance, "1,x\n2,y\n", "SnapshotAvro", name="snap")
    write(instance, "3,z\n", "SnapshotAvro", name="snap")
    assert read(instance, "SnapshotAvro", name="snap", schema=SCHEMA) == [{"a": 3, "b": "z"}]
    write(instance, "1,x\n", "SnapshotText", name="lines", delimiter="|")
    assert read(instance, "SnapshotText", name="lines") == [{"offset": 0, "body": "1|x"}]


@pytest.mark.spark
def test_a_file_set_without_partitions_is_told(instance):
    source = stage("batchsource", "SnapshotAvro", name="none", schema=SCHEMA)
    run = instance.run(pipeline(source, stage("batchsink", "Trash", referenceName="t")))
    assert "file set 'none' has no partitions in" in run.error.message
    assert run.error.stage == "In"


@pytest.mark.spark
def test_events_of_the_time_are_read(instance):
    new, old = files(instance.home.path / "streams" / "default" / "s", "1,x\n", "2,y\n")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    given = {"name": "s", "format": "csv", "schema": SCHEMA}
    (event,) = read(instance, "Stream", duration="1h", **given)
    assert event == {"ts": new.stat().st_mtime_ns // 1_000_000, "headers": {}, "a": 1, "b": "x"}
    assert len(read(instance, "Stream", duration="1d", **given)) == 2


@pytest.mark.spark
@pytest.mark.parametrize(
    ("format", "line", "event"),
    [
        ({}, "hä", {"body": "aMOk"}),
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
    ],
)
def test_formats_of_events(instance, format, line, event):
    for file in (instance.home.path / "elsewhere").glob("*"):
        file.unlink()
    files(instance.home.path / "elsewhere", f"{line}\n")
    (found,) = read(instance, "Stream", name="mapped", duration="1d", **format)
    del found["ts"], found["headers"]
    assert found == event


def files(folder: Path, *texts: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number, text in enumerate(texts):
        file = folder / f"{number}.txt"
        file.write_text(text)
        made.append(file)
    return made


def test_wrong_times_formats_and_zones_are_told_at_once(instance):
    source = stage("batchsource", "Stream", name="s", duration="day", delay="1x", format="grok")
    sink = stage(
        "batchsink", "TPFSAvro", name="t", partitionOffset="1", timeZone="Mars", filePathFormat="b"
    )
    answer = instance.cdap.studio.validate_pipeline(PipelineRequest(pipeline(source, sink)))
    assert [(failure.stage, failure.message.split(":")[0]) for failure in answer.errors] == [
        ("In", "'day' is no duration."),
        ("In", "'1x' is no duration."),
        ("In", "Format 'grok' of streams cannot be read here."),
        ("Out", "'1' is no duration."),
        ("Out", "Invalid 'timeZone'"),
        ("Out", "Invalid 'filePathFormat'"),
        ("Out", "Input schema of stage 'Out' is unknown because stage 'In' is invalid."),
    ]
