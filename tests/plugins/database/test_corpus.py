"""Real pipelines with databases, workbooks and argument setters: what is reported on them is truly wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance

OURS = ("Database", "Excel", "ArgumentSetter", "KVTable", "ValueMapper")
NO_CONNECTION = "Required property 'connectionString' has no value."
TRULY_WRONG = {
    ("003", "Required property 'filePath' has no value."),
    ("003", "Required property 'sheetValue' has no value."),
    ("004", "Required property 'filePath' has no value."),
    ("004", "Required property 'sheetValue' has no value."),
    ("005", NO_CONNECTION),
    ("006", NO_CONNECTION),
    ("018", NO_CONNECTION),
    ("018", "Required property 'importQuery' has no value."),
}
"""By the number of the pipeline: templates to be filled in."""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        yield made


def test_every_stage_is_valid_or_truly_wrong(instance: TemporaryInstance, corpus: Path):
    count, reported = 0, set()
    for file in sorted((corpus / "pipelines").glob("*.json")):
        text = file.read_text(encoding="utf-8")
        document = json.loads(text)
        config = document.get("config", document)
        ours = {
            s["name"] for s in config.get("stages") or [] if s.get("plugin", {}).get("name") in OURS
        }
        if not ours:
            continue
        count += len(ours)
        answer = instance.cdap.studio.validate_pipeline(PipelineRequest(text, use_suggested=True))
        reported |= {(file.name[:3], e.message) for e in answer.errors if e.stage in ours}
    assert count >= 14
    assert reported == TRULY_WRONG
