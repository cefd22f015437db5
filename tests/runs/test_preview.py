"""Pipelines previewed: the records of every stage, nothing written, an end for each way to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.engine.messages.spool import RunStatus
from localcdap.rpc.host_record import read_host_record
from localcdap.runs.model import RunRequest
from localcdap.runs.preview.model import Preview, PreviewRequest, PreviewStatus
from localcdap.testing.instance import TemporaryInstance
from tests.runs.preview_plugins import PEOPLE, PLUGINS, pipeline, sink, source, stage

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("previews")) as instance:
        instance.settings("preview.records = 4\n")
        folder = instance.home.path
        (folder / "plugins").mkdir()
        (folder / "plugins" / "trying-1.0.0.py").write_text(PLUGINS)
        (folder / "in.csv").write_text("ada,36\nbob,7\neve,50\nmallory,51\ntrent,52\n")
        (folder / "old.csv").write_text("methuselah,969\n")
        yield instance


def start(instance: TemporaryInstance, document: Any, **more: Any) -> Preview:
    return instance.cdap.previews.start(PreviewRequest(document, **more))


def end(instance: TemporaryInstance, preview: Preview) -> Preview:
    while not preview.status.is_end:
        preview = instance.cdap.previews.wait("default", preview.preview, preview.version, 5.0)
    return preview


def names(preview: Preview, name: str) -> list[str]:
    return [record["name"] for record in preview.stages[name].records]


def children(instance: TemporaryInstance) -> list[Path]:
    """The folders of previews that go on."""
    folder = instance.home.previews
    return list(folder.iterdir()) if folder.is_dir() else []


def test_every_stage_shows_its_records_and_nothing_is_written(instance: TemporaryInstance):
    document = pipeline(
        [
            stage("touch", "action", "Touch", file="touched"),
            source("in", "in.csv"),
            stage("check", "transform", "Check"),
            stage("draw", "transform", "Draw"),
            stage("errors", "errortransform", "ErrorCollector", codeField="code"),
            stage("any", "condition", "Conditional", expression="token['check']['output'] > 2"),
            sink("out"),
            sink("again"),
            sink("bad"),
            sink("few"),
        ],
        ("touch", "in"),
        ("in", "check"),
        ("check", "draw"),
        ("draw", "again"),
        ("draw", "any"),
        ("any", "out", "true"),
        ("any", "few", "false"),
        ("check", "errors"),
        ("errors", "bad"),
    )
    later = stage("later", "postaction", "TouchLater", file="touched later")
    preview = end(instance, start(instance, document | {"postActions": [later]}))

    assert preview.error is None
    assert preview.status is PreviewStatus.COMPLETED
    assert names(preview, "in") == ["ada", "bob", "eve", "mallory"]
    assert names(preview, "check") == ["ada", "eve", "mallory"]
    checked = preview.stages["check"]
    assert [(e.record["name"], e.code) for e in checked.errors] == [("bob", 4)]
    assert preview.stages["bad"].records[0]["code"] == 4
    # A sample is drawn once, no matter how many stages read it.
    drawn = preview.stages["draw"].records
    assert drawn == preview.stages["again"].records == preview.stages["out"].records
    assert preview.stages["out"].schema.field_names == ["name", "age"]
    assert "few" not in preview.stages
    assert "touch" not in preview.stages
    folder = instance.home.path
    assert (folder / "touched").exists()
    assert not (folder / "touched later").exists()
    assert not list(folder.glob("out-*"))
    assert any("started" in line.text for line in preview.logs)


def test_only_the_first_line_of_a_file_is_its_header(instance: TemporaryInstance):
    (instance.home.path / "headed.csv").write_text("name,age\nada,36\nbob,7\neve,50\n")
    body = {"type": "record", "name": "t", "fields": [{"name": "body", "type": "string"}]}
    lines = stage(
        "in", "batchsource", "File", referenceName="r", path="headed.csv", schema=json.dumps(body)
    )
    recipe = "parse-as-csv :body ',' true\ndrop :body\nset-type :age integer"
    parse = stage("parse", "transform", "Wrangler", directives=recipe, schema=json.dumps(PEOPLE))
    document = pipeline([lines, parse, sink("out")], ("in", "parse"), ("parse", "out"))
    assert names(end(instance, start(instance, document)), "out") == ["ada", "bob", "eve"]


def test_a_stage_that_fails_leaves_the_records_of_the_others(instance: TemporaryInstance):
    document = pipeline(
        [
            source("in", "in.csv"),
            stage("boom", "sparkcompute", "Fails"),
            stage("behind", "transform", "Draw"),
            sink("lost"),
            stage("fine", "transform", "Draw"),
            sink("out"),
        ],
        ("in", "boom"),
        ("boom", "behind"),
        ("behind", "lost"),
        ("in", "fine"),
        ("fine", "out"),
    )

    preview = end(instance, start(instance, document, records=1))

    assert preview.status is PreviewStatus.RUN_FAILED
    assert preview.error is not None
    assert preview.error.stage == "boom"
    assert "asked to fail" in preview.error.message
    assert {name for name, each in preview.stages.items() if each.records} == {"in", "fine", "out"}
    assert len(preview.stages["boom"].problems) == 1
    assert "behind" not in preview.stages


TABLE = stage("to", "batchsink", "Table", **{"schema.row.field": "name"})
TABLE["plugin"]["properties"]["name"] = "blanks"
READERS = {
    "file": [stage("to", "batchsink", "File", referenceName="r", path="blank", format="csv")],
    "avro": [stage("to", "batchsink", "File", referenceName="r", path="blank", format="avro")],
    "table": [TABLE],
    "python": [stage("draw", "transform", "Draw"), stage("to", "batchsink", "Trash")],
    "nobody": [stage("to", "batchsink", "Trash")],
}


@pytest.mark.slow
@pytest.mark.parametrize("readers", READERS.values(), ids=READERS)
def test_a_null_that_fails_a_run_fails_the_preview(instance: TemporaryInstance, readers):
    """The same message of the same stage; a stage that does not read the field does not fail."""
    stages = [source("in", "in.csv"), stage("blanks", "sparkcompute", "Blanks"), *readers]
    names = [each["name"] for each in stages]
    document = pipeline(stages, *pairwise(names))

    preview = end(instance, start(instance, document))
    run = instance.cdap.runs.start(RunRequest(document))
    while not run.status.is_end:
        run = instance.cdap.runs.wait(run.run, run.version, 5.0)

    if preview.status is PreviewStatus.COMPLETED:
        assert run.status is RunStatus.COMPLETED, run.error
        assert readers == READERS["nobody"]
        return
    assert preview.status is PreviewStatus.RUN_FAILED
    assert run.error is not None
    assert preview.error is not None
    assert preview.error.stage == run.error.stage == ("blanks" if "draw" in names else "to")
    assert preview.error.message == run.error.message
    assert "Field 'name' is null" in preview.error.message
    problems = [problem for each in preview.stages.values() for problem in each.problems]
    assert [problem.record for problem in problems] == [2]
    assert [record["name"] for record in preview.stages["blanks"].records][1] is None
    assert not [path for path in instance.home.path.iterdir() if "blank" in path.name]


def test_a_stage_that_takes_too_much_memory_fails_alone(instance: TemporaryInstance):
    stages = [source("in", "old.csv"), stage("check", "transform", "Check", then="hog"), sink("o")]

    preview = end(instance, start(instance, pipeline(stages, ("in", "check"), ("check", "o"))))

    assert preview.status is PreviewStatus.RUN_FAILED
    assert preview.error.message == "Stage 'check' took more memory than its process may have."
    assert names(preview, "in") == ["methuselah"]


def test_a_pipeline_with_failures_says_all_of_them(instance: TemporaryInstance):
    document = pipeline(
        [source("in", "${where}"), stage("check", "transform", "Check", least="x"), sink("out")],
        ("in", "check"),
        ("check", "out"),
    )

    preview = end(instance, start(instance, document))

    assert preview.status is PreviewStatus.DEPLOY_FAILED
    found = [(e.stage, e.field) for e in preview.errors]
    assert found[:2] == [("in", "path"), ("check", "least")]
    document["stages"][0] = source("in", "in.csv")
    document["stages"][1] = stage("check", "transform", "Cloudy")
    preview = end(instance, start(instance, document))
    assert preview.status is PreviewStatus.DEPLOY_FAILED
    assert "lacks mode_native, which a preview requires" in preview.error.message


def test_a_preview_is_stopped_by_its_user_or_by_the_clock(instance: TemporaryInstance):
    document = pipeline(
        [source("in", "old.csv"), stage("check", "transform", "Check", then="sleep"), sink("out")],
        ("in", "check"),
        ("check", "out"),
    )
    first, second = start(instance, document), start(instance, document, timeout_minutes=0.05)
    third = start(instance, document)

    third = instance.cdap.previews.get("default", third.preview)
    assert (third.status, third.position_in_waiting_queue) == (PreviewStatus.WAITING, 0)
    third = instance.cdap.previews.stop("default", third.preview)
    second = end(instance, second)
    while "in" not in first.stages:
        first = instance.cdap.previews.wait("default", first.preview, first.version, 5.0)
    first = instance.cdap.previews.stop("default", first.preview)

    statuses = [each.status for each in (first, second, third)]
    assert statuses == [
        PreviewStatus.KILLED,
        PreviewStatus.KILLED_BY_TIMER,
        PreviewStatus.KILLED,
    ]
    assert names(first, "in") == ["methuselah"]
    deadline = time.monotonic() + 60
    while children(instance) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert children(instance) == []
    listed = instance.cdap.previews.list_previews("default")
    assert [each.preview for each in listed][:3] == [
        each.preview for each in (third, second, first)
    ]


def test_what_cannot_be_previewed_is_refused_at_once(instance: TemporaryInstance):
    for more in ({"records": 0}, {"records": 10_001}, {"timeout_minutes": 0}):
        with pytest.raises(BadRequestError):
            start(instance, pipeline([]), **more)
    with pytest.raises(BadRequestError):
        start(instance, "no pipeline")
    with pytest.raises(NotFoundError):
        start(instance, pipeline([]), namespace="nowhere")
    with pytest.raises(NotFoundError, match="There is no preview"):
        instance.cdap.previews.get("default", str(uuid.uuid1()))
    of_an_earlier_host = "5b7b7f6a-0000-11ef-8000-000000000000"
    with pytest.raises(NotFoundError, match="ended with the process that had the instance open"):
        instance.cdap.previews.get("default", of_an_earlier_host)
    with pytest.raises(NotFoundError, match="no preview 'x'"):
        instance.cdap.previews.get("default", "x")


@pytest.mark.slow
def test_the_program_shows_a_crash_and_a_preview_ends_with_its_host(
    instance: TemporaryInstance, tmp_path: Path, capsys
):
    from localcdap.cli.main import run

    stages = [source("in", "old.csv"), stage("check", "transform", "Check", then="exit"), sink("o")]
    document = pipeline(stages, ("in", "check"), ("check", "o"))
    file = tmp_path / "p.json"
    file.write_text(json.dumps(document))
    home = ["--home", str(instance.home.path)]

    assert run(["preview", str(file), *home]) == 1
    shown = capsys.readouterr().out
    assert "methuselah  969" in shown
    assert "The process of the preview ended unexpectedly" in shown
    assert run(["preview", str(file), "--stage", "chek", *home]) == 1
    capsys.readouterr()

    stages[1] = stage("check", "transform", "Check", then="sleep")
    file.write_text(json.dumps(document))
    own = tmp_path / "home"
    (own / "plugins").mkdir(parents=True)
    (own / "plugins" / "trying-1.0.0.py").write_text(PLUGINS)
    (own / "old.csv").write_text("methuselah,969\n")
    command = [sys.executable, "-m", "localcdap.cli", "preview", str(file), "--home", str(own)]
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process = _preview_process(own)
    host = read_host_record(own)
    assert host is not None
    os.kill(host.pid, signal.SIGKILL)

    process.wait(timeout=60)
    assert program.wait(timeout=60) != 0


def _preview_process(home: Path) -> psutil.Process:
    """The process of the preview that goes on in an instance, once it has its order."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for spool in home.glob("previews/*/spool"):
            for process in psutil.process_iter(["open_files"]):
                opened = process.info["open_files"] or ()
                if any(each.path == str(spool) for each in opened):
                    return process
        time.sleep(0.05)
    raise AssertionError("there is no process of a preview")
