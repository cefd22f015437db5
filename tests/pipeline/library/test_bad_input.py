"""Any JSON at all: kept and given back as it was, or one error that says why not; the database goes on."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.reader import read_document, upgrade_document
from localcdap.pipeline.library.application_model import (
    ApplicationDetail,
    Deployment,
    DeployRequest,
    Draft,
    DraftRequest,
)
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.library.drafts import DraftService
from localcdap.pipeline.library.hub import create_packaged_document, is_package, read_package
from localcdap.pipeline.library.templates import TemplateService
from localcdap.pipeline.validation.plugins import PluginTemplate
from localcdap.store.store import Store
from tests.pipeline.json_documents import JSON, changed_pipelines

ONCE = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def drafts(store: Store, namespaces: NamespaceService) -> DraftService:
    return DraftService(store, Topics(store), namespaces)


@ONCE
@given(document=JSON | changed_pipelines())
def test_any_json_is_deployed_and_exported_or_refused(
    applications: ApplicationService, document: Any
):
    try:
        answer = applications.deploy(DeployRequest(document, fallback_name="p", fix=True))
    except BadRequestError:
        return
    assert unpack(pack(answer), Deployment) == answer
    if answer.application is None:
        assert answer.errors
        return
    detail = applications.describe("default", answer.name)
    assert unpack(pack(detail), ApplicationDetail) == detail
    exported = json.loads(applications.export("default", answer.name))
    assert answer.repairs or json.dumps(exported) == json.dumps(document)
    read_document(applications.export("default", answer.name, upgrade=True))


@ONCE
@given(document=JSON | changed_pipelines(), name=st.text(max_size=4), key=st.text(max_size=4))
def test_any_json_is_kept_as_a_draft_or_refused(
    drafts: DraftService, document: Any, name: str, key: str
):
    try:
        saved = drafts.save("default", DraftRequest(json.dumps(document), name))
    except BadRequestError:
        return
    assert unpack(pack(drafts.get("default", saved.id)), Draft).revision == saved.revision
    exported = json.loads(drafts.export("default", saved.id))
    assert json.dumps(exported) == json.dumps(document)
    read_document(json.dumps(upgrade_document(read_document(document))))
    with contextlib.suppress(LocalcdapError):
        drafts.get("default", key)


@given(st.fixed_dictionaries({"specVersion": JSON, "actions": JSON}) | JSON)
def test_any_json_is_a_package_or_none(source: Any):
    if is_package(source):
        with pytest.raises(BadRequestError):
            read_package(source, "spec.json")


@given(JSON)
def test_any_configuration_of_a_package_is_a_document_or_none(config: Any):
    arguments = [{"name": "name", "value": "p"}, {"name": "config", "value": "c.json"}]
    source = {"specVersion": 1, "actions": [{"type": "create_pipeline", "arguments": arguments}]}
    (pipeline,) = read_package(source, "spec.json").pipelines
    with contextlib.suppress(BadRequestError):
        assert read_document(create_packaged_document(pipeline, config)).name == "p"


@pytest.mark.parametrize("name", ["a\udc80", "a\0b", "", " ", "a" * 10_000])
def test_odd_names_are_kept_or_refused(
    applications: ApplicationService, drafts: DraftService, store, namespaces, shelf, name: str
):
    templates = TemplateService(store, namespaces, shelf)
    document = {"config": {"stages": []}}
    for call in (
        lambda: applications.deploy(DeployRequest(document, name=name)),
        lambda: applications.describe("default", name),
        lambda: applications.describe("default", "x", name),
        lambda: drafts.save("default", DraftRequest(document, name)),
        lambda: drafts.get("default", name),
        lambda: templates.save(
            "default", PluginTemplate(name, "batchsink", "Sink", {"path": name})
        ),
        lambda: templates.get("default", name),
    ):
        with contextlib.suppress(LocalcdapError):
            call()
    assert applications.list_applications("default") == []
    assert drafts.list_drafts("default", filter=name) is not None
