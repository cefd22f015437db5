"""HierarchyToRelational: the original's own examples, failures, depth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hierarchy_to_relational.hierarchy import HierarchyToRelational

from localcdap.api import Schema
from localcdap.api.errors import StageError
from localcdap.testing import PipelineTester, artifact_ref
from tests.conftest import REPOSITORY
from tests.plugins.transform.support import configure, messages, record

ARTIFACT = REPOSITORY / "plugins_dir" / "hierarchy-to-relational"
EDGES = record("x", parent=Schema.STRING, child=Schema.STRING)
FIELDS = {"parentField": "parent", "childField": "child"}
SEVERAL_WAYS = ["1 2", "1 4", "2 3", "3 6", "4 6", "5 6"]


def make_edges(edges: list[str]) -> list[dict[str, Any]]:
    return [dict(zip(("parent", "child"), edge.split(), strict=True)) for edge in edges]


@pytest.mark.spark
def test_hierarchies_of_the_original(spark, tmp_path: Path):
    """``testMultipleRoots`` and ``testStartWith`` of ``HierarchyToRelationalTest``, and one with a loop."""
    made = PipelineTester(spark, tmp_path)
    flatten = artifact_ref(ARTIFACT, "sparkcompute", "HierarchyToRelational")
    made.source("edges", EDGES, make_edges([*SEVERAL_WAYS, "9 9"]))
    roots = {"pathField": "child", "pathAliasField": "path", "connectByRootField": "child=root"}
    made.stage("roots", flatten, FIELDS | roots, ["edges"])
    start = {
        "pathField": "parent",
        "pathAliasField": "path",
        "pathSeparator": "|",
        "startWith": "parent == 2 OR parent == 5",
    }
    made.stage("start", flatten, FIELDS | start, ["edges"])
    made.sink("all", "roots")
    made.sink("some", "start")

    counts = made.run()

    found = sorted(
        (r["Level"], r["parent"], r["child"], r["Bottom"], r["path"], r["root"])
        for r in made.read("all")
    )
    assert found == [
        (1, "1", "2", False, "/2", "2"),
        (1, "1", "4", False, "/4", "4"),
        (1, "2", "3", False, "/3", "3"),
        (1, "3", "6", True, "/6", "6"),
        (1, "4", "6", True, "/6", "6"),
        (1, "5", "6", True, "/6", "6"),
        (2, "2", "3", False, "/2/3", "2"),
        (2, "3", "6", True, "/3/6", "3"),
        (2, "4", "6", True, "/4/6", "4"),
        (3, "3", "6", True, "/2/3/6", "2"),
    ]
    some = sorted((r["Level"], r["parent"], r["child"], r["path"]) for r in made.read("some"))
    assert some == [(1, "2", "3", "|2"), (1, "5", "6", "|5"), (2, "3", "6", "|2|3")]
    assert counts["edges"].out == 7
    assert counts["roots"].out == 10


@pytest.mark.slow
@pytest.mark.spark
def test_a_cycle_fails_the_run(spark, tmp_path: Path):
    made = PipelineTester(spark, tmp_path)
    flatten = artifact_ref(ARTIFACT, "sparkcompute", "HierarchyToRelational")
    made.source("edges", EDGES, make_edges(["1 2", "2 1"]))
    made.stage("flat", flatten, FIELDS | {"maxDepthField": "3"}, ["edges"])
    made.sink("out", "flat")
    with pytest.raises(StageError, match="Exceeded maximum depth of 3. Ensure there are no cycles"):
        made.run()


def test_the_output_schema():
    properties = FIELDS | {
        "levelField": "depth",
        "pathField": "child",
        "pathAliasField": "way",
        "connectByRootField": "child=top;parent=origin",
    }
    stage = configure(HierarchyToRelational, properties, EDGES)
    text = Schema.STRING
    assert stage.output_schema == record(
        "x_flattened",
        parent=text,
        child=text,
        depth=Schema.INT,
        Bottom=Schema.BOOLEAN,
        way=text,
        top=text,
        origin=text,
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"childField": "parent"}, ["Parent field is same as child field."]),
        ({"maxDepthField": "0"}, ["Invalid max depth."]),
        ({"pathField": "child"}, ["Path alias field name is null/empty."]),
        ({"pathAliasField": "path"}, ["Path field name is null/empty."]),
        ({"parentField": "up"}, ["Field up not found in the input schema."]),
        ({"connectByRootField": "up=top"}, ["Field up not found in the input schema."]),
        ({"connectByRootField": "child"}, ["'child' is not a field with its output field."]),
        ({"levelField": "child"}, ["The output would have two fields named 'child'."]),
    ],
)
def test_failures(changes: dict[str, str], expected: list[str]):
    assert messages(configure(HierarchyToRelational, FIELDS | changes, EDGES)) == expected
