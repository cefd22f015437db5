"""How often a document is parsed on its way through an instance: once, in its host."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from localcdap.api.errors import InvalidPipelineError
from localcdap.cli.pipelines import validate
from localcdap.pipeline.document import reader, values
from localcdap.pipeline.editing.edits import SetProperty, Undo
from localcdap.pipeline.editing.service import OpenRequest
from localcdap.pipeline.library.application_model import DeployRequest, DraftRequest
from localcdap.pipeline.service import PipelineRequest
from localcdap.pipeline_tests.cases import CaseRequest, CasesRequest
from localcdap.runs.model import RunRequest
from localcdap.runs.preview.model import DebugRequest, GivenRecords, PreviewRequest
from localcdap.testing.instance import TemporaryInstance
from tests.pipeline.pipelines import record

MISSING = {"name": "s", "plugin": {"type": "batchsource", "name": "Missing"}}
TEXT = json.dumps(
    {
        "name": "p",
        "config": {
            "stages": [
                MISSING,
                {
                    "name": "t",
                    "plugin": {"type": "transform", "name": "Projection", "properties": {}},
                },
            ],
            "connections": [{"from": "s", "to": "t"}],
        },
    }
)


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The JSON texts that were parsed as pipelines by this process."""
    found: list[str] = []
    decode = values.decode_json

    def note(document, *args, **more):
        if isinstance(document, str):
            found.append(document)
        return decode(document, *args, **more)

    monkeypatch.setattr(reader, "decode_json", note)
    return found


def start_run(cdap):
    with pytest.raises(InvalidPipelineError):
        cdap.runs.start(RunRequest(TEXT))


def preview(cdap):
    found = cdap.previews.start(PreviewRequest(TEXT))
    while not found.status.is_end:
        found = cdap.previews.wait("default", found.preview, found.version, 10.0)


def run_cases(cdap):
    started = cdap.cases.start(CasesRequest([CaseRequest(TEXT)]))
    while not cdap.cases.wait_for_progress(started, 0, 10.0).is_ended:
        pass


def debug(cdap):
    given = GivenRecords("s", [{"a": "b"}], json.loads(record("a")))
    cdap.debugging.debug(DebugRequest("t", [given], document=TEXT))


CALLS: dict[str, Callable] = {
    "validate": lambda cdap: cdap.studio.validate_pipeline(PipelineRequest(TEXT)),
    "validate a stage": lambda cdap: cdap.studio.validate_pipeline_stage(
        PipelineRequest(TEXT), "t"
    ),
    "run": start_run,
    "preview": preview,
    "test": run_cases,
    "debug": debug,
    "deploy": lambda cdap: cdap.applications.deploy(DeployRequest(TEXT)),
    "deploy with repairs": lambda cdap: cdap.applications.deploy(DeployRequest(TEXT, fix=True)),
    "save a draft": lambda cdap: cdap.drafts.save("default", DraftRequest(TEXT)),
    "arguments of a run": lambda cdap: cdap.runs.get_arguments("default", TEXT),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_document_is_parsed_once_in_the_host(
    cdap_instance: TemporaryInstance, parses: list[str], name: str
):
    CALLS[name](cdap_instance.cdap)

    assert parses == [TEXT]


@pytest.mark.slow
def test_an_edit_parses_nothing(cdap_instance: TemporaryInstance, parses: list[str]):
    editing = cdap_instance.cdap.editing
    opened = editing.open(OpenRequest(TEXT))
    assert parses == [TEXT]
    editing.apply(opened.id, SetProperty("t", "drop", "a"))
    editing.apply(opened.id, Undo())

    assert parses == [TEXT]


def test_a_command_leaves_the_document_to_the_host(tmp_path: Path, parses: list[str]):
    file = tmp_path / "p.json"
    file.write_text(TEXT, encoding="utf-8")

    answer = CliRunner().invoke(
        validate.validate_command, [str(file), "--home", str(tmp_path / "home")]
    )

    assert "Missing" in answer.output
    assert parses == []
