"""Real pipelines with plugins of Google Cloud and S3: what is reported on their stages is truly wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance

ARTIFACTS = ("google-cloud", "amazon-s3-plugins")
TRULY_WRONG = {
    ("066_pipeline-old.json", "Invalid path 'sdf'."),
    ("305_pipeline-old.json", "Invalid path 'sdf'."),
    (
        "141_Wrangler-Directive-Format-LowerandUpper-Case.json",
        "There is no connection 'test_1' in namespace 'default'; available: none.",
    ),
}


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        made.settings('[locations]\n"gs://" = "cloud"\n"s3a://" = "cloud"\n"s3n://" = "cloud"\n')
        yield made


def stages(document: Any) -> Iterator[dict[str, Any]]:
    """The stages of a document whose artifact is one of these, under whatever version of its name."""
    config = document.get("config") if isinstance(document, dict) else None
    for stage in (config or {}).get("stages") or []:
        artifact = stage.get("plugin", {}).get("artifact") or {}
        if str(artifact.get("name", "")).startswith(ARTIFACTS):
            yield stage


def test_every_stage_is_valid_or_truly_wrong(instance, corpus: Path):
    shipped = {each.name for each in instance.cdap.artifacts.list_plugins("default")}
    count, reported = 0, set()
    for file in sorted((corpus / "pipelines").glob("*.json")):
        text = file.read_text(encoding="utf-8")
        ours = {s["name"] for s in stages(json.loads(text)) if s["plugin"]["name"] in shipped}
        if not ours:
            continue
        count += len(ours)
        answer = instance.cdap.studio.validate_pipeline(PipelineRequest(text, use_suggested=True))
        # What only follows from another stage is not this one's fault.
        own = [e for e in answer.errors if "is unknown because stage" not in e.message]
        reported |= {(file.name, e.message) for e in own if e.stage in ours}
    assert count >= 90
    assert reported == TRULY_WRONG
