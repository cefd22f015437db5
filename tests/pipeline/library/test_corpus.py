"""Every real pipeline is deployed or refused; what is deployed differs from its file in the repairs only."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.failures import ArtifactId
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.comparison import compare_pipelines
from localcdap.pipeline.document.model import rename_pipeline
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.values import encode_json
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.store.store import Store
from tests.pipeline.shelf import Shelf, candidates, create_resolver

STAND_IN = """
from localcdap.api import Plugin, Schema, StageConfigurer, plugin

class StandIn(Plugin):
    types = {types}

    def configure(self, stage: StageConfigurer) -> None:
        schema = Schema.record("r", [("a", Schema.STRING)])
        if stage.output_ports:
            stage.port_schemas = dict.fromkeys(stage.output_ports, schema)
        else:
            stage.output_schema = schema
"""


@pytest.fixture(scope="module")
def stand_ins(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """A plugin for each type and name that the pipelines use, in one artifact; all but one, so that something
    is missing."""
    uses = {
        (use.type, use.name)
        for file in (corpus / "pipelines").glob("*.json")
        for document in [read_document(file.read_text(encoding="utf-8-sig"))]
        for use in (each.plugin for each in (*document.stages, *document.post_actions))
    }
    uses.discard(("batchsink", "Trash"))
    text = STAND_IN.format(types=tuple(sorted({type for type, _ in uses})))
    for number, (type, name) in enumerate(sorted(uses)):
        text += f"\n@plugin(type={type!r}, name={name!r}, description='.')\nclass P{number}(StandIn): ...\n"
    path = tmp_path_factory.mktemp("stand-ins") / "stand-ins-2.5.0.py"
    path.write_text(text, encoding="utf-8")
    return Shelf(*candidates(path, ArtifactId("core-plugins", "2.5.0", "SYSTEM")))


@pytest.fixture
def applications(
    store: Store, topics: Topics, namespaces: NamespaceService, stand_ins: Shelf
) -> ApplicationService:
    return ApplicationService(store, topics, namespaces, create_resolver(stand_ins))


def test_every_real_pipeline_is_deployed_as_it_is_or_refused(
    applications: ApplicationService, corpus: Path
):
    kinds: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    deployed = 0
    for file in sorted((corpus / "pipelines").glob("*.json")):
        text = file.read_text(encoding="utf-8-sig")
        answer = applications.deploy(
            DeployRequest(text, name=file.stem.replace(".", "_"), fix=True)
        )
        kinds.update(problem.kind.value for problem in answer.problems)
        assert (answer.application is None) == bool(answer.errors), file.name
        if answer.application is None:
            refused[" ".join(answer.errors[0].message.split()[:2])] += 1
            continue
        deployed += 1
        exported = applications.export("default", answer.name)
        given = rename_pipeline(read_document(text), answer.name)
        found = compare_pipelines(read_document(given), read_document(exported))
        changes = {change.what for stage in found.stages for change in stage.changes}
        assert (changes or {"artifact"}, found.settings) == ({"artifact"}, []), file.name
        assert {stage.name for stage in found.stages} == {each.stage for each in answer.repairs}
        assert _shape(exported) == _shape(encode_json(given)), file.name

    assert refused == {"Streaming pipelines": 21, "Plugin named": 8}
    assert deployed == 156 - 29
    assert kinds.keys() >= {"version", "range", "missing"}


def _shape(text: str) -> str:
    """The JSON with the contents of artifacts left out, keys in their order."""

    def without(node: Any) -> Any:
        if isinstance(node, list):
            return [without(each) for each in node]
        if isinstance(node, str) and node.startswith("{"):
            try:
                return without(json.loads(node))
            except ValueError:
                return node
        if isinstance(node, dict):
            return {k: ... if k == "artifact" else without(v) for k, v in node.items()}
        return node

    return json.dumps(without(json.loads(text)), default=str)
