"""MultiTableDatabase: the tables of a database, whose schemas are found when a run begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from database_plugins.multi_table_source import split_texts, unite_schemas

from localcdap.api import Schema
from localcdap.pipeline.service import PipelineRequest
from localcdap.runs.preview.model import PreviewRequest
from localcdap.testing.instance import TemporaryInstance
from tests.plugins.database.support import configure, messages
from tests.plugins.database.test_database import Database, instance, pipeline

__all__ = ["instance"]
TABLES = (
    "CREATE TABLE multi1 (id INT NOT NULL PRIMARY KEY, name VARCHAR(32) NOT NULL)",
    "INSERT INTO multi1 VALUES (0, 'samuel'), (1, 'dwayne'), (2, 'dwayne2')",
    "CREATE TABLE multi2 (name VARCHAR(32) NOT NULL, email VARCHAR(64))",
    "INSERT INTO multi2 VALUES ('samuel', 'sj@example.com'), ('dwayne', NULL)",
    "CREATE TABLE multi3 (item VARCHAR(32) NOT NULL, id VARCHAR(9), code BIGINT)",
    "INSERT INTO multi3 VALUES ('donut', 'x1', 100), ('scotch', NULL, 707)",
    "CREATE TABLE other (tablename VARCHAR(3), code INT)",
)


@pytest.fixture(scope="module")
def database(instance: TemporaryInstance, cdap_engine_directory: Path) -> Database:
    """A database with the tables of the original's test."""
    instance.settings('[locations]\n"gs://bucket" = "bucket"\n')
    made = Database(instance)
    for statement in TABLES:
        assert made.execute(statement).error is None
    return made


def many(database: Database, **properties: str) -> dict[str, Any]:
    return database.plugin("batchsource", "MultiTableDatabase", **properties)


def gcs_sink(path: str, **more: str) -> dict[str, Any]:
    given = {"referenceName": "o", "path": f"gs://bucket/{path}", "format": "parquet"}
    return {"type": "batchsink", "name": "GCSMultiFiles", "properties": given | more}


def json_sink(path: str) -> dict[str, Any]:
    given = {"referenceName": "o", "path": path, "format": "json"}
    return {"type": "batchsink", "name": "File", "properties": given}


def read_lines(instance: TemporaryInstance, path: str) -> list[dict[str, Any]]:
    files = (instance.home.path / path).iterdir()
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return sorted(lines, key=lambda row: str(row))


def test_properties_are_checked():
    wrong = {
        "referenceName": "a b",
        "connectionString": "mysql://x",
        "jdbcPluginName": "mysql",
        "dataSelectionMode": "sql-statements",
        "splitsPerTable": "0",
    }
    found = messages(configure("batchsource", "MultiTableDatabase", wrong))
    assert found == [
        "'mysql://x' is not a JDBC connection string.",
        "Invalid reference name 'a b'.",
        "Invalid number of splits '0'.",
        "There is no SQL statement.",
    ]
    right = wrong | {
        "referenceName": "r",
        "connectionString": "jdbc:mysql://x",
        "sqlStatements": "SELECT 1; SELECT 2",
        "tableAliases": "one",
        "splitsPerTable": "2",
    }
    result = configure("batchsource", "MultiTableDatabase", right)
    assert (messages(result), result.output_schema) == ([], None)
    assert ["Not every SQL statement" in each.message for each in result.warnings] == [True]


def test_statements_are_split_at_semicolons():
    assert split_texts("SELECT 'a\\;b'; ;SELECT 2;") == ["SELECT 'a;b'", "SELECT 2"]


def test_fields_of_several_types_become_one_that_has_them_all():
    one = Schema.record("a", [("n", Schema.INT), ("x", Schema.INT), ("t", Schema.DATE)])
    other = Schema.record("b", [("n", Schema.LONG), ("x", Schema.FLOAT), ("t", Schema.INT)])
    united, different = unite_schemas([one, other])
    assert [each.schema for each in united] == [Schema.LONG, Schema.DOUBLE, Schema.STRING]
    assert different["t"] == ["date in 'a'", "int in 'b'"]


@pytest.mark.slow
@pytest.mark.spark
def test_the_tables_are_written_apart(database: Database, instance: TemporaryInstance):
    source = many(database, tableNamePattern="MULTI%", splitsPerTable="2", blackList="x")
    answer = instance.cdap.studio.validate_pipeline(
        PipelineRequest(json.dumps(pipeline(source, gcs_sink("all"))))
    )
    assert answer.errors == []

    run = database.run(source, gcs_sink("all"))

    assert run.error is None
    assert run.stages["s0"].records_out == 7
    folder = instance.home.path / "bucket" / "all"
    tables = {each.name: pq.read_table(each).to_pylist() for each in folder.iterdir()}
    assert tables == {
        "MULTI1": [
            {"ID": 0, "NAME": "samuel"},
            {"ID": 1, "NAME": "dwayne"},
            {"ID": 2, "NAME": "dwayne2"},
        ],
        "MULTI2": [
            {"NAME": "samuel", "EMAIL": "sj@example.com"},
            {"NAME": "dwayne", "EMAIL": None},
        ],
        "MULTI3": [
            {"ITEM": "donut", "ID": "x1", "CODE": 100},
            {"ITEM": "scotch", "ID": None, "CODE": 707},
        ],
    }
    types = {name: str(pq.read_schema(next((folder / name).iterdir())).field("ID").type)
             for name in ("MULTI1", "MULTI3")}  # fmt: skip
    assert types == {"MULTI1": "int32", "MULTI3": "string"}


@pytest.mark.spark
def test_the_stages_after_it_see_the_fields_of_all_tables(database: Database, instance):
    source = many(database, whiteList="MULTI1,MULTI2", whereClause="WHERE name LIKE 'd%'")
    upper = {
        "type": "transform",
        "name": "Wrangler",
        "properties": {"field": "*", "precondition": "false", "directives": "uppercase :NAME"},
    }
    run = database.run(source, upper, json_sink("upper"))
    assert run.error is None
    assert read_lines(instance, "upper") == [
        {"ID": 1, "NAME": "DWAYNE", "EMAIL": None, "tablename": "MULTI1"},
        {"ID": 2, "NAME": "DWAYNE2", "EMAIL": None, "tablename": "MULTI1"},
        {"ID": None, "NAME": "DWAYNE", "EMAIL": None, "tablename": "MULTI2"},
    ]
    wrong = {"type": "batchaggregator", "name": "Distinct", "properties": {"fields": "NOWHERE"}}
    failed = database.run(source, wrong, json_sink("never"))
    assert failed.error is not None
    assert (failed.error.stage, "NOWHERE" in failed.error.message) == ("s1", True)


@pytest.mark.spark
def test_statements_are_read_with_their_aliases(database: Database, instance: TemporaryInstance):
    source = many(
        database,
        dataSelectionMode="sql-statements",
        sqlStatements="SELECT id, name FROM multi1 WHERE name <> 'a\\;b';SELECT code FROM multi3",
        tableAliases="people",
        tableNameField="of",
    )
    assert database.run(source, gcs_sink("said", splitField="of")).error is None
    folder = instance.home.path / "bucket" / "said"
    assert {each.name: pq.read_table(each).num_rows for each in folder.iterdir()} == {
        "people": 3,
        "sql_statement_2": 2,
    }


@pytest.mark.spark
def test_a_table_that_fails_is_handled_as_the_property_says(database: Database, instance):
    given = {"whiteList": "MULTI1,OTHER,NOWHERE", "tableNameField": "TABLENAME"}
    failed = database.run(many(database, **given), json_sink("failed"))
    assert failed.error is not None
    assert "table 'OTHER' has a column 'TABLENAME' already" in failed.error.message

    skipping = many(database, errorHandlingMode="skip-table", **given)
    run = database.run(skipping, json_sink("skipped"))
    assert (run.error, len(read_lines(instance, "skipped"))) == (None, 3)

    document = pipeline(
        many(database, errorHandlingMode="send-to-error-port", **given), json_sink("records")
    )
    collector = {"type": "errortransform", "name": "ErrorCollector", "properties": {}}
    document["config"]["stages"] += [
        {"name": "errors", "plugin": collector},
        {"name": "out", "plugin": json_sink("errors")},
    ]
    document["config"]["connections"] += [
        {"from": "s0", "to": "errors"},
        {"from": "errors", "to": "out"},
    ]
    run = instance.run(document)
    assert run.error is None
    assert run.stages["s0"].errors == 1
    (error,) = read_lines(instance, "errors")
    assert (error["reference_name"], error["table_name"]) == ("r", "OTHER")
    assert "already" in error["error_message"]
    assert len(read_lines(instance, "records")) == 3


@pytest.mark.spark
def test_no_table_and_no_database(database: Database, instance: TemporaryInstance):
    empty = database.run(many(database, tableNamePattern="NONE%"), json_sink("nothing"))
    assert (empty.error, empty.stages["s0"].records_out) == (None, 0)
    nowhere = many(database, connectionString="jdbc:derby:memory:nowhere")
    failed = database.run(nowhere, json_sink("never"))
    assert failed.error is not None
    assert (failed.error.stage, "reports an error" in failed.error.message) == ("s0", True)


@pytest.mark.spark
def test_the_source_database_finds_its_schema_too(database: Database, instance: TemporaryInstance):
    source = database.plugin(
        "batchsource",
        "Database",
        importQuery="SELECT id, name FROM multi1 WHERE id > 0 AND $CONDITIONS",
        columnNameCase="lower",
    )
    document = json.dumps(pipeline(source, json_sink("found")))
    answer = instance.cdap.studio.validate_pipeline(PipelineRequest(document))
    assert answer.errors == []
    assert ["The schema is not known" in each.message for each in answer.warnings] == [True]

    assert instance.run(document).error is None

    assert read_lines(instance, "found") == [
        {"id": 1, "name": "dwayne"},
        {"id": 2, "name": "dwayne2"},
    ]
    preview = instance.cdap.previews.start(PreviewRequest(document))
    while not preview.status.is_end:
        preview = instance.cdap.previews.wait("default", preview.preview, preview.version, 5.0)
    assert preview.error is None
    assert [row["name"] for row in preview.stages["s0"].records] == ["dwayne", "dwayne2"]
