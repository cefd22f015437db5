"""Altered values in the log and the record of a run, in its preview, and in what commands print."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.cli.main import run as run_command
from localcdap.engine.messages.samples import AlteredValues
from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import RunRequest
from localcdap.runs.preview.model import DebugRequest, PreviewRequest
from localcdap.testing.instance import TemporaryInstance

pytestmark = pytest.mark.spark
SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]})
BYTES = "bytes that are not UTF-8 became U+FFFD"
NOT_QUOTED = "a delimiter, a quote or a line end in a value was written as it is, as CDAP does"


@pytest.fixture(scope="module")
def instance(
    cdap_engine_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TemporaryInstance]:
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("altered")) as instance:
        (instance.home.path / "in.csv").write_bytes(b'a\nb\xff\nc"d\n\xfe\n')
        yield instance


def build() -> dict[str, Any]:
    source = {"referenceName": "i", "path": "in.csv", "format": "csv", "schema": SCHEMA}
    sink = {"referenceName": "o", "path": "out", "suffix": "yyyyMMddHHmmssSSS", "format": "csv"}
    plugins = [("In", "batchsource", source), ("Out", "batchsink", sink)]
    stages = [
        {"name": name, "plugin": {"name": "File", "type": type, "properties": properties}}
        for name, type, properties in plugins
    ]
    config = {"stages": stages, "connections": [{"from": "In", "to": "Out"}]}
    artifact = {"name": "cdap-data-pipeline", "version": "6.11.0", "scope": "SYSTEM"}
    return {"name": "altered", "artifact": artifact, "config": config}


def expect(instance: TemporaryInstance) -> list[AlteredValues]:
    place = f"'{instance.home.path}/in.csv', line 2."
    return [
        AlteredValues("In", BYTES, 2, place),
        AlteredValues("Out", NOT_QUOTED, 1, 'c"d'),
    ]


def test_a_run_says_each_change_once(instance: TemporaryInstance):
    cdap = instance.cdap

    run = cdap.runs.wait_for_end(cdap.runs.start(RunRequest(build())).run, 60.0)

    assert run.error is None
    assert run.altered == expect(instance)
    lines = json.loads(ask(instance, "logs", run.run, "--json"))
    assert [(line["stage"], line["text"]) for line in lines if line["level"] == "WARNING"] == [
        (values.stage, values.describe()) for values in expect(instance)
    ]
    shown = ask(instance, "runs", "show", run.run)
    for values in expect(instance):
        assert f"! {values.stage}: {values.describe()}" in shown


def test_a_preview_shows_them(instance: TemporaryInstance):
    previews = instance.cdap.previews
    preview = previews.start(PreviewRequest(build()))
    while not preview.status.is_end:
        preview = previews.wait("default", preview.preview, preview.version, 5.0)

    source, sink = expect(instance)
    assert preview.error is None
    assert preview.stages["In"].altered == [source]
    assert preview.stages["Out"].altered == [sink]


STRICT = {"system.strict": "true"}


def test_a_strict_run_fails_before_its_commit_with_all_that_was_noticed(
    instance: TemporaryInstance,
):
    cdap, document = instance.cdap, build()
    document["config"]["stages"][1]["plugin"]["properties"] |= {"path": "strict", "suffix": ""}

    run = cdap.runs.start(RunRequest(document, arguments=STRICT))
    run = cdap.runs.wait_for_end(run.run, 60.0)

    assert run.status == RunStatus.FAILED
    assert run.error is not None
    noticed = [f"Stage '{each.stage}': {each.describe()}" for each in expect(instance)]
    assert run.error.message.splitlines() == ["The run is strict, and noticed:", *noticed]
    assert run.altered == expect(instance)
    assert run.written == []
    assert not (instance.home.path / "strict").exists()
    assert run.stages["Out"].records_in == 4

    previews = cdap.previews
    preview = previews.start(PreviewRequest(document, arguments=STRICT))
    while not preview.status.is_end:
        preview = previews.wait("default", preview.preview, preview.version, 5.0)
    assert preview.error is not None
    assert preview.error.message == run.error.message
    assert [len(each.altered) for each in preview.stages.values()] == [1, 1]

    debugged = cdap.debugging.debug(DebugRequest("In", document=document, arguments=STRICT))
    assert [each.message for each in debugged.errors] == [
        "\n".join(run.error.message.splitlines()[:2])
    ]


def test_tests_of_pipelines_can_be_strict(instance: TemporaryInstance):
    folder = instance.home.path
    (folder / "p.json").write_text(json.dumps(build()))
    test = folder / "p.test.toml"
    test.write_text('pipeline = "p.json"\n[expect]\nOut = 4\n')

    assert "1 passed" in ask(instance, "test", str(test))
    failed = ask(instance, "test", str(test), "--strict", code=1)

    assert "The run is strict, and noticed:" in failed
    assert NOT_QUOTED in failed


def test_a_wrong_argument_is_said_before_anything_runs(instance: TemporaryInstance):
    with pytest.raises(BadRequestError, match=r"'system.strict' is 'maybe'"):
        instance.cdap.runs.start(RunRequest(build(), arguments={"system.strict": "maybe"}))


def ask(instance: TemporaryInstance, *arguments: str, code: int = 0) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert run_command([*arguments, "--home", str(instance.home.path)]) == code
    return printed.getvalue()
