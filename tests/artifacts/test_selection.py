"""Which plugin a stage gets, and which plugins are seen at all."""

from __future__ import annotations

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.artifacts.model import ArtifactSelector
from tests.artifacts.authoring import project, source, write


@pytest.fixture
def service(instance):
    for version in ("1.0.0", "1.10.0", "1.9.0", "2.0.0-SNAPSHOT"):
        write(instance.plugins / f"hasher-{version}.py", source(description=f"User {version}."))
    write(instance.plugins / "another-9.0.0.py", source(description="Another."))
    files = {"h.py": source(description="System."), "o.py": source("Sorter")}
    project(instance.system / "s1", "hasher", "1.10.0", files)
    project(instance.system / "s2", "hasher", "3.0.0", {"h.py": source(description="System 3.")})
    return instance.synced()


def chosen(service, **selector):
    found = service.find_plugin(
        "default", "transform", "Hasher", ArtifactSelector(**selector)
    ).plugin
    return found and f"{found.artifact.name} {found.artifact.version} {found.artifact.scope}"


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, "hasher 3.0.0 SYSTEM"),
        ({"scope": "user"}, "hasher 2.0.0-SNAPSHOT USER"),
        ({"version": "1.10.0"}, "hasher 1.10.0 USER"),
        ({"version": "1.10.0", "scope": "SYSTEM"}, "hasher 1.10.0 SYSTEM"),
        ({"version": "[1.0.0,2.0.0-SNAPSHOT)"}, "hasher 1.10.0 USER"),
        ({"version": "[1.0.0,1.10.0)"}, "hasher 1.9.0 USER"),
        ({"name": "another"}, "another 9.0.0 USER"),
        ({"name": "", "scope": "", "version": ""}, "hasher 3.0.0 SYSTEM"),
        ({"name": "missing"}, None),
        ({"version": "7.0.0"}, None),
    ],
)
def test_selection(service, selector, expected):
    assert chosen(service, **selector) == expected


def test_highest_version_of_any_artifact_is_suggested(service):
    found = service.find_plugin(
        "default", "transform", "Hasher", ArtifactSelector("SYSTEM", "core", "1.0")
    )

    assert found.plugin is None
    assert (found.suggested.artifact.name, found.suggested.artifact.version) == ("another", "9.0.0")


def test_nearest_names_when_there_is_no_such_plugin(service):
    found = service.find_plugin("default", "transform", "hashr")

    assert (found.plugin, found.suggested, found.nearest) == (None, None, ["Hasher"])


@pytest.mark.parametrize("selector", [{"scope": "galaxy"}, {"version": "[1,2"}, {"version": "x"}])
def test_selector_that_cannot_be_read(service, selector):
    with pytest.raises(BadRequestError, match="Could not parse|Invalid version range"):
        chosen(service, **selector)


def test_details_of_a_plugin(service):
    selector = ArtifactSelector(version="[1.0.0,1.9.0]")

    info = service.get_plugin("default", "transform", "Hasher", selector)

    assert info.description == "User 1.9.0."
    assert list(info.properties) == ["fields", "digest"]
    assert info.grain == "record"


@pytest.mark.parametrize(
    ("type", "name", "selector", "help"),
    [
        ("transform", "Hashr", None, "Similar names: Hasher."),
        ("transform", "Hasher", ArtifactSelector(version="5"), "another 9.0.0 (USER) has it"),
        ("transform", "Zzz", None, "Plugins of that type: Hasher, Sorter."),
        ("batchsource", "Zzz", None, "Types: transform."),
    ],
)
def test_plugin_that_is_not_there(service, type, name, selector, help):
    with pytest.raises(NotFoundError, match=f"Plugin named '{name}' of type '{type}'") as caught:
        service.get_plugin("default", type, name, selector)

    assert help in caught.value.corrective_action


def test_lists(service):
    assert [p.name for p in service.list_plugins("default")] == ["Hasher", "Sorter"]
    every = service.list_plugins("default", "transform", all_versions=True)
    assert [f"{p.artifact.name} {p.artifact.version} {p.artifact.scope}" for p in every][:6] == [
        "another 9.0.0 USER",
        "hasher 1.0.0 USER",
        "hasher 1.9.0 USER",
        "hasher 1.10.0 SYSTEM",
        "hasher 1.10.0 USER",
        "hasher 2.0.0-SNAPSHOT USER",
    ]
    assert {a.scope for a in service.list_artifacts("default", scope="system")} == {"SYSTEM"}
