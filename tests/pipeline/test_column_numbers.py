"""Columns of delimited files without a header: body_0 …, and body_1 … in pipelines of earlier versions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.application_model import hash_draft
from localcdap.pipeline.library.earlier_versions import keep_earlier_versions
from localcdap.pipeline.rules.column_numbers import check_column_numbers, number_from_zero
from localcdap.pipeline.rules.structure_rules import PipelineStructure
from localcdap.store.migration import SHIPPED
from localcdap.store.store import Store

LAST = "0898_numbered_columns.sql"


def build(recipe: str = "", **properties: str) -> dict[str, Any]:
    given = {"referenceName": "in", "path": "x", "format": "csv"} | properties
    plugins = [
        ("In", "batchsource", "File", {k: v for k, v in given.items() if v}),
        ("Prepare", "transform", "Wrangler", {"directives": recipe}),
        ("Out", "batchsink", "Trash", {"referenceName": "out"}),
    ]
    stages = [
        {"name": name, "plugin": {"name": plugin, "type": type, "properties": values}}
        for name, type, plugin, values in plugins
    ]
    connections = [{"from": "In", "to": "Prepare"}, {"from": "Prepare", "to": "Out"}]
    artifact = {"name": "cdap-data-pipeline", "version": "6.11.0", "scope": "SYSTEM"}
    config = {"stages": stages, "connections": connections}
    return {"name": "p", "artifact": artifact, "config": config}


def find_failures(document: dict[str, Any]) -> list[str]:
    structure = PipelineStructure(read_document(document))
    return [failure.message for failure in check_column_numbers(structure)]


@pytest.mark.parametrize(
    ("recipe", "properties"),
    [
        ("rename :body_0 :id\nrename :body_1 :name", {}),
        ("uppercase :name", {}),
        ("rename :body_1 :id", {"firstColumnNumber": "1"}),
        ("rename :body_1 :id", {"schema": "{}"}),
        ("rename :body_1 :id", {"schema": "${schema}"}),
        ("rename :body_1 :id", {"skipHeader": "true"}),
        ("rename :body_1 :id", {"skipHeader": "${skips}"}),
        ("rename :body_1 :id", {"format": "text"}),
        ("rename :body_1 :id", {"format": "${format}"}),
        # Names that Wrangler makes of a column body, or of another one.
        ("parse-as-csv :body ','\nrename :body_1 :id", {}),
        ("split-to-columns body ;\nrename body_1 id", {}),
        ("rename :body_2_1 :id", {}),
    ],
)
def test_pipelines_without_names_of_earlier_versions(recipe: str, properties: dict[str, str]):
    assert find_failures(build(recipe, **properties)) == []


@pytest.mark.parametrize("format", ["csv", "TSV", "delimited"])
def test_an_imported_pipeline_with_names_of_earlier_versions_fails(format: str):
    (message,) = find_failures(build("rename body_2 id\nset-type :body_1 int", format=format))
    assert message.startswith("The stages after 'In' read body_1, and none reads body_0")


def test_the_fix_numbers_the_columns_from_zero():
    document = build("rename :body_1 :id\nset-column :sum body_2 + body_10", firstColumnNumber="1")

    assert number_from_zero(read_document(document), "In") == {
        ("In", "firstColumnNumber"): None,
        ("Prepare", "directives"): "rename :body_0 :id\nset-column :sum body_1 + body_9",
    }


def test_pipelines_and_drafts_of_earlier_versions_keep_their_names(tmp_path: Path):
    old = json.dumps(build("rename :body_1 :id"), indent=1)
    with_schema = json.dumps(build("rename :body_1 :id", schema="{}"))
    migrations = tmp_path / "migrations"
    shutil.copytree(SHIPPED, migrations, ignore=lambda *_: [LAST])
    with Store(tmp_path / "x.duckdb", migrations) as store, store.transaction() as tx:
        for name, text in (("old", old), ("explicit", with_schema), ("odd", "batchsource")):
            tx.execute(
                "INSERT INTO applications BY NAME SELECT 'default' AS namespace, ? AS name, ? AS version, "
                "1 AS number, '{}' AS artifact, 'a' AS author, 0 AS created, ? AS document",
                (name, name, text),
            )
        tx.execute(
            "INSERT INTO draft_revisions BY NAME SELECT 'default' AS namespace, 1 AS generation, "
            "'' AS owner, 'd' AS id, 1 AS revision, 'p' AS name, '{}' AS artifact, 0 AS updated, "
            "'' AS hash, ? AS pipeline",
            (old,),
        )
        for name, format in (("lines", "csv"), ("whole", "text")):
            tx.execute(
                "INSERT INTO plugin_templates "
                "VALUES ('default', 'batchsource', ?, 'File', '{}', ?, '[]', '')",
                (name, json.dumps({"format": format})),
            )

    with Store(tmp_path / "x.duckdb") as store:
        keep_earlier_versions(store)
        keep_earlier_versions(store)
        documents = dict(store.read("SELECT name, document FROM applications"))
        ((text, digest),) = store.read("SELECT pipeline, hash FROM draft_revisions")
        templates = store.read("SELECT name, properties FROM plugin_templates")

    expected = build("rename :body_1 :id", firstColumnNumber="1")
    assert json.loads(documents["old"]) == json.loads(text) == expected
    assert (documents["explicit"], documents["odd"]) == (with_schema, "batchsource")
    assert {name: json.loads(text) for name, text in templates} == {
        "lines": {"format": "csv", "firstColumnNumber": "1"},
        "whole": {"format": "text"},
    }
    assert digest == hash_draft("p", None, read_document(expected))
    assert find_failures(expected) == []
