"""What validation of a pipeline says of the stages that a Conditional names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcdap.pipeline.editing.edits import Connect, Disconnect
from localcdap.pipeline.editing.service import OpenRequest
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"body","type":"string"}]}'


def build_pipeline(expression: str) -> str:
    stages = [
        ("Persons", "batchsource", "File", {"path": "in.txt", "format": "text", "schema": SCHEMA}),
        ("If", "condition", "Conditional", {"expression": expression}),
        ("Trash", "batchsink", "Trash", {}),
    ]
    config = {
        "stages": [
            {
                "name": name,
                "plugin": {
                    "type": type,
                    "name": plugin,
                    "properties": {"referenceName": "r", **properties}
                    if type != "condition"
                    else properties,
                },
            }
            for name, type, plugin, properties in stages
        ],
        "connections": [
            {"from": "Persons", "to": "If"},
            {"from": "If", "to": "Trash", "condition": "true"},
        ],
    }
    artifact = {"name": "cdap-data-pipeline", "scope": "SYSTEM"}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def test_a_stage_that_is_not_before_the_condition_is_a_warning(tmp_path: Path):
    with TemporaryInstance(tmp_path) as instance:
        validate = instance.cdap.studio.validate_pipeline
        wrong = validate(PipelineRequest(build_pipeline("token['Person']['input'] > 0")))
        behind = validate(PipelineRequest(build_pipeline("token['Trash']['input'] > 0")))
        good = validate(PipelineRequest(build_pipeline("token['Persons']['input'] > 0")))

    assert wrong.errors == behind.errors == good.errors == []
    assert [(each.stage, each.corrective_action) for each in wrong.warnings] == [
        ("If", "Did you mean 'Persons'?")
    ]
    assert [(each.stage, each.corrective_action) for each in behind.warnings] == [
        ("If", "Choose one of: Persons.")
    ]
    assert good.warnings == []


@pytest.mark.slow
def test_an_editing_session_warns_too_and_follows_the_connections(tmp_path: Path):
    with TemporaryInstance(tmp_path) as instance:
        editing = instance.cdap.editing
        text = build_pipeline("token['Persons']['input'] > 0")
        session = editing.open(OpenRequest(text)).id

        def find_warnings() -> list[str | None]:
            state = editing.wait_until_checked(session).stages["If"]
            return [each.corrective_action for each in state.warnings]

        assert editing.wait_until_checked(session).stages["If"].warnings == []
        editing.apply(session, Disconnect("Persons", "If"))
        without = find_warnings()
        editing.apply(session, Connect("Persons", "If"))
        again = find_warnings()

    assert without != []
    assert again == []
