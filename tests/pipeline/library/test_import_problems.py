"""What pipelines from elsewhere ask for that is not here just so."""

from __future__ import annotations

import pytest

from localcdap.api.failures import ArtifactId
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.application_model import find_import_problems
from localcdap.pipeline.validation.plugins import IndexedPlugins
from tests.pipeline.pipelines import config
from tests.pipeline.shelf import MOCKS, Shelf, candidates

HERE = ArtifactId("mock-plugins", "1.5.0", "SYSTEM")


@pytest.fixture(scope="module")
def mine() -> Shelf:
    """1.5.0 in the system and 1.2.0 of the user."""
    user = ArtifactId("mock-plugins", "1.2.0", "USER")
    return Shelf(*candidates(MOCKS, HERE), *candidates(MOCKS, user))


@pytest.mark.parametrize(
    ("asked", "kind", "message"),
    [
        ({}, None, ""),
        ({"name": "mock-plugins"}, None, ""),
        ({"name": "mock-plugins", "version": "1.5.0", "scope": "system"}, None, ""),
        (
            {"version": "[1.0.0,2.0.0)"},
            "range",
            "the version in use is mock-plugins 1.5.0 (SYSTEM).",
        ),
        (
            {"version": "[3.0.0,4.0.0)"},
            "range",
            "no installed version fits; installed is mock-plugins 1.5.0",
        ),
        (
            {"name": "mock-plugins", "version": "1.0.0"},
            "version",
            "installed is a newer version, mock-plugins 1.5.0",
        ),
        (
            {"name": "mock-plugins", "version": "2.0.0"},
            "version",
            "installed is an older version, mock-plugins 1.5.0",
        ),
        ({"version": "1.5.0", "scope": "USER"}, "scope", "the other scope has mock-plugins 1.5.0"),
        (
            {"name": "acme", "version": "1.5.0"},
            "artifact",
            "the plugin is in another artifact, mock-plugins 1.5.0",
        ),
        ({"version": "new"}, "unreadable", "Could not parse 'new' as an artifact version."),
        ({"scope": "MINE"}, "unreadable", "Could not parse 'MINE' as a valid scope."),
    ],
)
def test_each_problem_has_its_kind_and_its_repair(mine: Shelf, asked, kind, message):
    source = config("transform:t")
    source["stages"][0]["plugin"]["artifact"] = asked
    found = find_import_problems(read_document(source), IndexedPlugins(mine, "default"))

    if kind is None:
        assert found == []
        return
    ((problem, repair),) = found
    assert (problem.stage, problem.kind) == ("t", kind)
    assert problem.message.startswith("Stage 't' asks for ")
    assert message in problem.message
    assert problem.repair == HERE
    assert repair is not None
    assert repair.artifact == HERE


def test_the_other_scope_is_offered_before_a_newer_version(mine: Shelf):
    source = config("transform:t")
    source["stages"][0]["plugin"]["artifact"] = {"version": "1.2.0", "scope": "SYSTEM"}
    ((problem, _),) = find_import_problems(read_document(source), IndexedPlugins(mine, "default"))

    assert problem.kind == "scope"
    assert problem.repair == ArtifactId("mock-plugins", "1.2.0", "USER")


def test_a_missing_plugin_has_no_repair_but_similar_names(mine: Shelf):
    source = config("transform:t mail:m")
    source["postActions"] = [{"name": "p", "plugin": {"name": "Gone", "type": "postaction"}}]
    source["stages"][0]["plugin"]["name"] = "Strct"
    found = find_import_problems(read_document(source), IndexedPlugins(mine, "default"))

    assert [(p.stage, p.kind, p.repair, r) for p, r in found] == [
        ("t", "missing", None, None),
        ("p", "missing", None, None),
    ]
    assert "similar names: Strict" in found[0][0].message
