"""Applications: deployed with all failures reported, every version kept, given back as they came."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localcdap.api.errors import BadRequestError, ConflictError, DocumentError, NotFoundError
from localcdap.api.security import Principal
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.library.application_model import (
    ApplicationFilter,
    Deployment,
    DeployRequest,
)
from localcdap.pipeline.library.applications import ApplicationService
from localcdap.pipeline.service import PipelineRequest, StudioService
from localcdap.security.principals import act_as
from localcdap.store.store import Store
from tests.pipeline.pipelines import config, record

SMALL = config("source:s transform:t sink:z", "s>t t>z", s={"schema": record("a", "b")})


def document(name: str | None = "orders", **more: Any) -> dict[str, Any]:
    return {"name": name, "artifact": {"name": "cdap-data-pipeline"}, "config": SMALL, **more}


def with_artifact(artifact: dict[str, str], stage: int = 1) -> dict[str, Any]:
    made = json.loads(json.dumps(document()))
    made["config"]["stages"][stage]["plugin"]["artifact"] = artifact
    return made


def deploy(applications: ApplicationService, document: Any, **options: Any) -> Deployment:
    return applications.deploy(DeployRequest(document, **options))


def test_each_deployment_is_a_version_and_the_last_one_the_latest(
    applications: ApplicationService,
):
    deploy(applications, document(description="first"))
    deploy(applications, document(change={"description": "better"}))
    third = deploy(applications, document(), change="best").application

    assert third is not None
    known = applications.list_versions("default", "orders")
    assert [each.number for each in known] == [3, 2, 1]
    assert [each.change.latest for each in known] == [True, False, False]
    assert [each.change.description for each in known] == ["best", "better", None]
    assert len({each.version for each in known}) == 3
    (listed,) = applications.list_applications("default")
    assert listed == third == known[0]
    for version in (None, "latest", "-SNAPSHOT", "3", third.version):
        assert applications.describe("default", "orders", version).number == 3
    assert applications.describe("default", "orders", "1").description == "first"


def test_what_is_reported_of_an_application(applications: ApplicationService):
    deploy(applications, document())
    found = applications.describe("default", "orders")

    assert (found.artifact.name, found.artifact.scope) == ("cdap-data-pipeline", "SYSTEM")
    assert json.loads(found.copy_configuration) == SMALL
    assert [(p.id, p.name, p.type) for p in found.plugins] == [
        ("s", "Source", "batchsource"),
        ("t", "Pass", "transform"),
        ("z", "Sink", "batchsink"),
    ]


def test_the_specification_is_that_of_the_deployment(
    applications: ApplicationService, studio: StudioService, store: Store
):
    deploy(applications, document())
    validated = studio.validate_pipeline(PipelineRequest(document())).spec

    assert validated is not None
    assert validated.stages[0].output_schema is not None
    assert applications.describe("default", "orders").spec == validated

    with store.transaction() as tx:  # a version that was deployed before specifications were kept
        tx.execute("UPDATE applications SET spec = NULL")
    assert applications.describe("default", "orders").spec is None


def test_the_name_is_the_one_asked_for_then_the_documents_then_the_files(
    applications: ApplicationService,
):
    assert deploy(applications, document(), name="other", fallback_name="f").name == "other"
    assert deploy(applications, document(), fallback_name="f").name == "orders"
    assert deploy(applications, document(None), fallback_name="f").name == "f"
    with pytest.raises(BadRequestError, match="has no name"):
        deploy(applications, document(None))
    with pytest.raises(BadRequestError, match="Invalid application ID: a b@1") as raised:
        deploy(applications, document("a b@1"))
    assert raised.value.corrective_action is not None
    assert raised.value.corrective_action.endswith("such as a_b_1.")
    names = [each.name for each in applications.list_applications("default")]
    assert names == ["f", "orders", "other"]
    assert [a.name for a in applications.list_applications("default", name_filter="OR")] == [
        "orders"
    ]


def test_a_pipeline_with_failures_is_not_kept_and_all_are_reported(
    applications: ApplicationService,
):
    broken = config("source:s strict:t sink:z", "s>t t>z", s={"schema": record("a")})
    broken["stages"].append({"name": "y", "plugin": {"name": "Nope", "type": "batchsink"}})
    answer = deploy(applications, {"name": "orders", "config": broken})

    assert answer.application is None
    assert {error.stage for error in answer.errors} >= {"y"}
    assert len(answer.errors) > 1
    assert not applications.has_application("default", "orders")
    with pytest.raises(DocumentError):
        deploy(applications, "{}")
    with pytest.raises(NotFoundError, match="Namespace 'nope'"):
        deploy(applications, document(), namespace="nope")


def test_an_export_is_what_was_imported(applications: ApplicationService):
    text = (
        '{"zz": [1.50, 1e3, "\\u00e9", null], "name": "orders", "config": '
        + json.dumps(SMALL)
        + ', "__ui__": {"nodes": []}, "aa": {"b": 1, "a": 12345678901234567890}}'
    )
    deploy(applications, text)
    exported = applications.export("default", "orders")

    assert json.loads(exported) == json.loads(text)
    assert "".join(exported.split()) == "".join(text.split())
    assert exported.startswith('{\n  "zz": [\n    1.50,')
    deploy(applications, exported)
    assert applications.export("default", "orders") == exported


@pytest.mark.parametrize(
    ("given", "exported"),
    [
        (document("sales"), document("orders")),
        ({"config": SMALL}, {"config": SMALL, "name": "orders"}),
        (
            {"name": None, "config": {"name": "sales", "config": SMALL}},
            {"name": None, "config": {"name": "orders", "config": SMALL}},
        ),
        (
            {"artifact": {"name": "cdap-data-pipeline"}, "configuration": json.dumps(SMALL)},
            {
                "artifact": {"name": "cdap-data-pipeline"},
                "configuration": json.dumps(SMALL),
                "name": "orders",
            },
        ),
        ({"name": "sales", **SMALL}, {"name": "orders", **SMALL}),
        (SMALL, SMALL),
    ],
)
def test_an_export_has_the_name_of_the_application(
    applications: ApplicationService, given: dict[str, Any], exported: dict[str, Any]
):
    deploy(applications, given, name="orders")

    assert json.loads(applications.export("default", "orders")) == exported
    assert json.loads(applications.export("default", "orders", upgrade=True))["name"] == (
        exported.get("name") or exported.get("config", {}).get("name")
    )


@pytest.mark.parametrize("version", ["1.2.0", "[1.0.0,2.0.0)"])
def test_repairs_are_all_that_an_export_differs_in(applications: ApplicationService, version: str):
    given = with_artifact({"name": "mock-plugins", "version": version, "scope": "SYSTEM"})
    answer = deploy(applications, given, fix=True)

    assert answer.application is not None
    assert [str(repair) for repair in answer.repairs] == [
        f"Stage 't' uses mock-plugins 1.5.0 instead of mock-plugins {version} (SYSTEM)."
    ]
    given["config"]["stages"][1]["plugin"]["artifact"]["version"] = "1.5.0"
    assert json.loads(applications.export("default", "orders")) == given


def test_without_fix_a_missing_version_is_refused_and_a_range_taken(
    applications: ApplicationService,
):
    missing = deploy(applications, with_artifact({"name": "mock-plugins", "version": "9.0.0"}))
    assert missing.application is None
    assert [problem.kind for problem in missing.problems] == ["version"]

    given = with_artifact({"name": "mock-plugins", "version": "[1.0.0,2.0.0)"})
    ranged = deploy(applications, given)
    assert ranged.application is not None
    assert [problem.kind for problem in ranged.problems] == ["range"]
    assert ranged.repairs == []
    assert json.loads(applications.export("default", "orders")) == given


def test_a_deployment_made_from_an_older_version_is_refused(applications: ApplicationService):
    first = deploy(applications, document()).application
    assert first is not None
    deploy(applications, document(), parent_version=first.version)
    with pytest.raises(ConflictError, match=r"its version 1 .* not the latest any more; that is 2"):
        deploy(applications, document(), parent_version=first.version)
    assert len(applications.list_versions("default", "orders")) == 2


def test_what_is_not_there_is_reported_with_what_is(applications: ApplicationService):
    with pytest.raises(NotFoundError) as raised:
        applications.describe("default", "orders")
    assert "deploy one: localcdap import FILE" in raised.value.full_message
    deploy(applications, document())
    with pytest.raises(NotFoundError) as raised:
        applications.export("default", "order")
    assert raised.value.full_message.endswith("Available: orders.")
    with pytest.raises(NotFoundError, match="has no version 'none'"):
        applications.describe("default", "orders", "none")


def test_a_running_application_is_not_deleted(applications: ApplicationService, active: list[str]):
    deploy(applications, document())
    active.append("run-1")
    with pytest.raises(ConflictError, match="is running: run-1"):
        applications.delete("default", "orders")
    active.clear()
    assert applications.delete("default", "orders").number == 1
    with pytest.raises(NotFoundError):
        applications.delete("default", "orders")


def test_what_happens_to_an_application_and_its_program_is_published_with_its_user(
    applications: ApplicationService, topics: Topics, store: Store
):
    with act_as(Principal("alice")):
        for _ in range(2):
            deploy(applications, document())
        assert applications.describe("default", "orders").change.author == "alice"
        applications.delete("default", "orders")
    with store.snapshot() as tx:
        messages = topics.read(tx, "system", ["entities"], 0, 10)

    kinds = ["entityCreated", "entityUpdated", "entityDeleted"]
    assert [each.payload["kind"] for each in messages] == [kind for kind in kinds for _ in "ab"]
    application = {"namespace": "default", "application": "orders"}
    program = {**application, "type": "Workflow", "program": "DataPipelineWorkflow"}
    assert [message.payload["entity"] for message in messages] == 3 * [
        {"type": "application", "details": application},
        {"type": "program", "details": program},
    ]
    assert {message.payload["user"] for message in messages} == {"alice"}


def test_applications_go_with_their_namespace(
    applications: ApplicationService, namespaces: NamespaceService
):
    namespaces.create("team")
    deploy(applications, document(), namespace="team")
    deploy(applications, document())
    namespaces.delete("team")
    with pytest.raises(NotFoundError):
        applications.list_applications("team")
    namespaces.create("team")
    assert applications.list_applications("team") == []
    assert applications.has_application("default", "orders")


def test_a_page_has_the_latest_version_of_each_application(applications: ApplicationService):
    for name, versions in (("a", 1), ("b", 5), ("c", 2), ("d", 1), ("e", 1)):
        for _ in range(versions):
            deploy(applications, document(name))

    def read(after: str | None, limit: int, *, is_descending: bool = False) -> list[Any]:
        filter = ApplicationFilter(is_descending=is_descending)
        found = applications.list_page("default", filter, after, limit)
        return [(each.name, each.number) for each in found]

    latest = [("a", 1), ("b", 5), ("c", 2), ("d", 1), ("e", 1)]
    for limit in range(1, 7):
        assert read(None, limit) == latest[:limit]
        assert read("b", limit) == latest[2 : 2 + limit]
        assert read(None, limit, is_descending=True) == latest[::-1][:limit]
        assert read("d", limit, is_descending=True) == latest[2::-1][:limit]


def test_a_latest_version_that_was_asked_for_is_not_kept_beyond_a_change(
    applications: ApplicationService, namespaces: NamespaceService
):
    def find(namespace: str = "default") -> int:
        return applications.find(namespace, "orders").number

    namespaces.create("team")
    deploy(applications, document(), namespace="team")
    deploy(applications, document())
    assert (find(), find(), find("team")) == (1, 1, 1)
    deploy(applications, document())
    assert find() == 2
    applications.delete_version("default", "orders")
    assert find() == 1
    applications.delete("default", "orders")
    with pytest.raises(NotFoundError):
        find()
    namespaces.delete("team")
    namespaces.create("team")
    with pytest.raises(NotFoundError):
        find("team")
