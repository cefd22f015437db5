"""The filtering examples of the design document, one test for each table, and what else must not show."""

from __future__ import annotations

import msgspec
import pytest

from localcdap.api.errors import NotFoundError
from localcdap.api.failures import ARTIFACT_NOT_FOUND
from localcdap.artifacts.model import ArtifactSelector
from localcdap.artifacts.service import ArtifactService
from localcdap.pipeline.environment import EnvironmentFactory
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.service import PipelineRequest, StageRequest, StudioService
from tests.artifacts.authoring import capable, write

DECLARED = {
    "CDAPTable": '@capability(Capabilities.Mode.NATIVE, Capabilities.Spark.V2, "PII")',
    "BigTable": '@capability(Capabilities.Mode.CLOUD, "PII")',
    "S3": "@capability(Capabilities.Mode.CLOUD, Capabilities.Mode.NATIVE)",
}


@pytest.fixture
def visible(instance):
    """Which of the plugins an instance with these requirements shows, all lookups agreeing."""
    for name, declaration in DECLARED.items():
        write(instance.plugins / f"{name.lower()}-1.0.0.py", capable(name, declaration))

    def visible(*required: str) -> list[str]:
        service = instance.synced(*required)
        listed = {p.name for p in service.list_plugins("default")}
        for name in DECLARED:
            check(service, name, seen=name in listed)
        return [name for name in DECLARED if name in listed]

    return visible


def check(service: ArtifactService, name: str, *, seen: bool) -> None:
    """Every lookup shows the plugin, or none betrays it."""
    found = service.find_plugin("default", "transform", name)
    selector = ArtifactSelector("USER", name.lower(), "1.0.0")
    assert (found.plugin is not None) == seen
    assert (service.find_plugin("default", "transform", name, selector).plugin is not None) == seen
    in_artifacts = [p.name for a in service.list_artifacts("default") for p in a.plugins]
    assert (name in in_artifacts) == seen
    if seen:
        assert service.get_plugin("default", "transform", name).name == name
        return
    elsewhere = service.find_plugin(
        "default", "transform", name, ArtifactSelector(version="[2.0.0,3.0.0)")
    )
    assert (found.suggested, elsewhere.suggested) == (None, None)
    assert name not in found.nearest + elsewhere.nearest
    with pytest.raises(NotFoundError) as caught:
        service.get_plugin("default", "transform", name)
    assert caught.value.message == f"Plugin named '{name}' of type 'transform' not found."
    assert name not in str(caught.value.corrective_action)
    assert "capab" not in caught.value.full_message


def test_cloud(visible):
    assert visible("mode_cloud") == ["BigTable", "S3"]


def test_on_premises_hadoop(visible):
    assert visible("mode_native") == ["CDAPTable", "S3"]


def test_on_premises_hadoop_and_cloud(visible):
    assert visible("mode_native", "mode_cloud") == ["S3"]


def test_sandbox(visible):
    assert visible() == ["CDAPTable", "BigTable", "S3"]


def test_sandbox_spark_2(visible):
    assert visible("spark_2") == ["CDAPTable"]


def test_sandbox_compliance_required(visible):
    assert visible("PII") == ["CDAPTable", "BigTable"]


def test_cloud_compliance_required(visible):
    assert visible("mode_cloud", "PII") == ["BigTable"]


def test_a_hidden_plugin_looks_like_one_that_never_was(instance):
    write(instance.plugins / "one-1.0.0.py", capable("Hasher", '@capability("pii")'))
    with_hidden = instance.synced("mode_native")
    hidden = answers(with_hidden)
    (instance.plugins / "one-1.0.0.py").unlink()

    assert answers(instance.synced("mode_native")) == hidden


def answers(service: ArtifactService) -> list[object]:
    selector = ArtifactSelector("USER", "one", "1.0.0")
    with pytest.raises(NotFoundError) as caught:
        service.get_plugin("default", "transform", "Hasher", selector)
    return [
        caught.value.full_message,
        service.find_plugin("default", "transform", "Hasher", selector),
        service.find_plugin("default", "transform", "Hashr"),
        service.list_plugins("default", all_versions=True),
        service.list_capabilities("default"),
    ]


def test_a_pipeline_with_a_hidden_plugin_fails_with_not_found(instance, workers):
    write(instance.plugins / "one-1.0.0.py", capable("Hasher", '@capability("mode_cloud")'))
    plugin = {"name": "Hasher", "type": "transform", "properties": {"fields": "a"}}
    plugin["artifact"] = {"name": "one", "version": "[1.0.0,2.0.0)", "scope": "USER"}
    request = PipelineRequest({"stages": [{"name": "Hash", "plugin": plugin}], "connections": []})
    stage = StageRequest({"name": "Hash", "plugin": plugin})

    seen, hidden = (
        StudioService(PipelineResolver(EnvironmentFactory(artifacts), workers.configure))
        for artifacts in (instance.synced(), instance.synced("mode_native"))
    )

    assert seen.validate_stage(stage).errors == []
    for errors in (
        hidden.validate_stage(stage).errors,
        hidden.validate_pipeline(request).errors,
        hidden.validate_pipeline(msgspec.structs.replace(request, use_suggested=True)).errors,
    ):
        (error,) = [error for error in errors if error.type == ARTIFACT_NOT_FOUND]
        assert error.message.startswith("Plugin named 'Hasher' of type 'transform' not found.")
        assert error.suggested_artifact is None
        assert "capab" not in error.full_message
        assert "Similar" not in error.full_message


def test_the_newest_version_that_is_capable_is_chosen(instance):
    write(instance.plugins / "one-1.0.0.py", capable("Hasher", '@capability("mode_native")'))
    write(instance.plugins / "one-2.0.0.py", capable("Hasher", '@capability("mode_cloud")'))
    service = instance.synced("mode_native")

    assert service.find_plugin("default", "transform", "Hasher").plugin.artifact.version == "1.0.0"
    newer = service.find_plugin("default", "transform", "Hasher", ArtifactSelector(version="2.0.0"))
    assert (newer.plugin, newer.suggested.artifact.version) == (None, "1.0.0")


def test_capabilities_are_counted_once_for_each_plugin(instance):
    write(instance.plugins / "a-1.0.0.py", capable("A", '@capability("mode_native", "PII")'))
    write(instance.plugins / "a-2.0.0.py", capable("A", '@capability("mode_native", "pii")'))
    write(instance.plugins / "b-1.0.0.py", capable("B", '@capability("pii", "gdpr")'))
    counts = instance.synced().list_capabilities("default")

    assert {c.capability: c.plugins for c in counts if c.plugins} == {
        "gdpr": 1,
        "mode_native": 1,
        "pii": 2,
    }
    assert {c.capability: c.system for c in counts}["spark_4"] is True
    assert {c.capability: c.system for c in counts}["gdpr"] is False


def test_several_asked_capabilities_must_all_hold(instance):
    write(instance.plugins / "a-1.0.0.py", capable("A", '@capability("x", "y")'))
    write(instance.plugins / "b-1.0.0.py", capable("B", '@capability("x")'))
    service = instance.synced()

    assert [p.name for p in service.list_plugins("default", capabilities=["X", "y"])] == ["A"]


@pytest.mark.parametrize(
    ("artifact", "expected"),
    [
        (ArtifactSelector(name="a"), ["A"]),
        (ArtifactSelector(name="a", version="1.0.0"), ["A"]),
        (ArtifactSelector(name="a", version="[2.0.0,3.0.0)"), []),
        (ArtifactSelector(scope="system"), []),
        (ArtifactSelector(name="cdap-data-pipeline"), ["A", "B"]),
        (ArtifactSelector(name="cdap-data-pipeline", version="[6.0.0,7.0.0)"), ["A", "B"]),
        (ArtifactSelector(name="cdap-data-pipeline", version="5.0.0"), []),
        (ArtifactSelector(name="cdap-data-streams"), ["A"]),
    ],
)
def test_a_list_is_narrowed_to_an_artifact_or_an_application(instance, artifact, expected):
    write(instance.plugins / "a-1.0.0.py", capable("A", ""))
    only_batch = (
        '# /// script\n# [tool.localcdap]\n# parents = ["cdap-data-pipeline[6,7)"]\n# ///\n'
    )
    write(instance.plugins / "b-1.0.0.py", only_batch + capable("B", ""))

    found = instance.synced().list_plugins("default", artifact=artifact)

    assert [p.name for p in found] == expected
