"""Templates of plugins: used as if they were plugins, written out where they are not known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.artifacts.model import ArtifactSelector
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.library.templates import TemplateService
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.service import PipelineRequest, StageRequest, StageSchema, StudioService
from localcdap.pipeline.validation.plugins import PluginTemplate
from localcdap.store.store import Store
from tests.pipeline.pipelines import config, record
from tests.pipeline.shelf import Shelf, create_resolver, resolve

SCHEMA = record("a", "b")
PEOPLE = PluginTemplate(
    "People",
    "batchsource",
    "Source",
    {"schema": SCHEMA},
    ["schema"],
    ArtifactSelector(name="mock-plugins"),
    "All the people.",
)
OUT = PluginTemplate("Out", "batchsink", "Sink", {"path": "/out"})


@pytest.fixture
def templates(store: Store, namespaces: NamespaceService, shelf: Shelf) -> TemplateService:
    return TemplateService(store, namespaces, shelf)


@pytest.fixture
def resolver(templates: TemplateService, shelf: Shelf) -> PipelineResolver:
    for template in (PEOPLE, OUT):
        templates.save("default", template)
    return create_resolver(shelf, templates=templates.list_templates)


@pytest.fixture
def studio(resolver: PipelineResolver) -> StudioService:
    return StudioService(resolver)


def pipeline(source: dict[str, str] | None = None, **sink: Any) -> dict[str, Any]:
    made = config("source:s sink:z", "s>z", s=source or {}, z=sink)
    made["stages"][0]["plugin"]["name"] = "People"
    made["stages"][1]["pluginTemplate"] = "Out"
    return {"name": "people", "config": made}


def test_a_template_is_kept_listed_replaced_and_deleted(templates: TemplateService):
    templates.save("default", PEOPLE)
    templates.save("default", OUT)
    assert templates.list_templates("default") == [OUT, PEOPLE]
    assert templates.get("default", "People") == PEOPLE
    with pytest.raises(ConflictError, match="There is a template 'Out'"):
        templates.save("default", OUT)
    other = PluginTemplate("Out", "batchsink", "Sink", {})
    templates.save("default", other, replace=True)
    assert templates.delete("default", "Out", "batchsink") == other
    with pytest.raises(NotFoundError) as raised:
        templates.delete("default", "Out")
    assert raised.value.full_message == "There is no template 'Out'. Available: batchsource People."


@pytest.mark.parametrize(
    ("template", "error", "message"),
    [
        (PluginTemplate("Pass", "transform", "Strict", {}), ConflictError, "a plugin 'Pass'"),
        (PluginTemplate(" ", "transform", "Strict", {}), BadRequestError, "has no name"),
        (
            PluginTemplate("X", "batchsink", "Sink", {"pth": "1"}),
            BadRequestError,
            "no property 'pth'",
        ),
        (PluginTemplate("X", "batchsink", "Sink", {}, ["path"]), BadRequestError, "but not set"),
    ],
)
def test_what_is_no_template_is_refused(templates: TemplateService, template, error, message):
    with pytest.raises(error, match=message):
        templates.save("default", template)
    assert templates.list_templates("default") == []


def test_a_pipeline_uses_them_as_plugins(studio: StudioService, resolver: PipelineResolver):
    answer = studio.validate_pipeline(PipelineRequest(pipeline()))

    assert answer.errors == []
    assert answer.spec is not None
    source, sink = answer.spec.stages
    assert (source.plugin.name, source.plugin.properties) == ("Source", {"schema": SCHEMA})
    assert (sink.plugin.name, sink.plugin.properties) == ("Sink", {"path": "/out"})
    assert sink.input_schemas["s"] is not None
    resolved = resolve(resolver, pipeline(path="/other"))
    assert resolved.requests["z"].properties == {"path": "/other"}


def test_a_locked_property_that_is_changed_is_a_failure_that_names_it(studio: StudioService):
    same = studio.validate_pipeline(PipelineRequest(pipeline({"schema": SCHEMA})))
    assert same.errors == []
    answer = studio.validate_pipeline(PipelineRequest(pipeline({"schema": record("z")})))
    (failure,) = answer.errors
    assert (failure.stage, failure.field) == ("s", "schema")
    assert failure.message == "Property 'schema' is locked by template 'People'."

    node = pipeline({"schema": record("z")})["config"]["stages"][0]
    (failure,) = studio.validate_stage(StageRequest(node)).errors
    assert failure.field == "schema"
    node = pipeline()["config"]["stages"][1]
    sink = studio.validate_stage(StageRequest(node, [StageSchema("s", json.loads(SCHEMA))]))
    assert sink.spec is not None
    assert sink.spec.plugin.properties == {"path": "/out"}


def test_a_mark_of_a_template_that_is_not_here_means_nothing(
    studio: StudioService, resolver: PipelineResolver
):
    made = pipeline()
    made["config"]["stages"][1]["pluginTemplate"] = "Elsewhere"
    assert studio.validate_pipeline(PipelineRequest(made)).errors == []
    environment = resolver.environments.create("default")
    _, uses = environment.write_out_templates(read_document(made))
    assert [use.stage for use in uses] == ["s"]


def test_what_is_deployed_and_exported_has_the_plugins_themselves(
    resolver: PipelineResolver,
    templates: TemplateService,
    store: Store,
    topics: Topics,
    namespaces: NamespaceService,
    shelf: Shelf,
):
    applications = ApplicationService(store, topics, namespaces, resolver)
    answer = applications.deploy(DeployRequest(pipeline(path="/other")))

    assert [str(use) for use in answer.templates] == [
        "Stage 's' uses template 'People': batchsource Source.",
        "Stage 'z' uses template 'Out': batchsink Sink.",
    ]
    exported = json.loads(applications.export("default", "people"))
    source, sink = exported["config"]["stages"]
    assert source["plugin"] == {
        "type": "batchsource",
        "name": "Source",
        "properties": {"schema": SCHEMA},
        "artifact": {"name": "mock-plugins"},
    }
    assert sink == {
        "name": "z",
        "plugin": {"type": "batchsink", "name": "Sink", "properties": {"path": "/other"}},
    }
    for name in ("People", "Out"):
        templates.delete("default", name)
    assert resolve(create_resolver(shelf), exported).errors == []


def test_a_repair_of_a_stage_that_uses_one_is_written_out_with_it(
    resolver: PipelineResolver, store: Store, topics: Topics, namespaces: NamespaceService
):
    applications = ApplicationService(store, topics, namespaces, resolver)
    made = pipeline()
    made["config"]["stages"][0]["plugin"]["artifact"] = {"name": "mock-plugins", "version": "0.9.0"}
    assert applications.deploy(DeployRequest(made)).application is None
    assert applications.deploy(DeployRequest(made, fix=True)).errors == []
    source, _ = json.loads(applications.export("default", "people"))["config"]["stages"]
    assert source["plugin"]["name"] == "Source"
    assert source["plugin"]["artifact"]["version"] == "1.5.0"


def test_templates_go_with_their_namespace(
    templates: TemplateService, namespaces: NamespaceService
):
    namespaces.create("team")
    templates.save("team", OUT)
    namespaces.delete("team")
    namespaces.create("team")
    assert templates.list_templates("team") == []
    with pytest.raises(NotFoundError, match="Namespace 'nope'"):
        templates.list_templates("nope")
