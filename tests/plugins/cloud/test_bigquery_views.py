"""Views of BigQuery: which stages take them, with which schema, and the rows that a run reads from them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localcdap.api.pipeline import PipelineValidation
from localcdap.api.schema import Schema
from localcdap.engine.host_client import execute_statements
from localcdap.engine.messages.host import StatementBatch
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance

Plugin = tuple[str, str, dict[str, str]]
NOT_ENABLED = "'dear' is a 'View' :"
IS_VIEW = "'shop.dear' is not allowed for this operation because it is currently a VIEW."


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        do(
            made,
            'CREATE TABLE "shop.items" (id BIGINT, name VARCHAR, price DOUBLE)',
            "INSERT INTO \"shop.items\" VALUES (1, 'a', 5.5), (2, 'b', 20)",
            'CREATE VIEW "shop.dear" AS SELECT id, name, sum(id) OVER () AS total FROM "shop.items"',
            'CREATE TABLE "shop.gone" AS SELECT 1 AS a',
            'CREATE VIEW "shop.broken" AS SELECT a FROM "shop.gone"',
            'DROP TABLE "shop.gone"',
            changes="shop.items shop.dear shop.gone shop.broken",
        )
        yield made


def do(instance: TemporaryInstance, *sql: str, changes: str = "") -> None:
    batch = StatementBatch("default", list(sql), changes.split())
    execute_statements(str(instance.home.path), batch)


def pipeline(source: Plugin, sink: Plugin, *actions: Plugin) -> str:
    named = [(f"Do{number}", action) for number, action in enumerate(actions)]
    named += [("In", source), ("Out", sink)]
    stages = [
        {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}
        for name, (type, plugin, properties) in named
    ]
    names = [name for name, _ in named]
    connections = [{"from": a, "to": b} for a, b in zip(names, names[1:], strict=False)]
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    config = {"stages": stages, "connections": connections}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def source(table: str = "dear", **more: str) -> Plugin:
    return ("batchsource", "BigQueryTable", {"dataset": "shop", "table": table, **more})


def sink(table: str, **more: str) -> Plugin:
    return ("batchsink", "BigQueryTable", {"dataset": "shop", "table": table, **more})


def validate(
    instance: TemporaryInstance, document: str, *, connected: bool = True
) -> PipelineValidation:
    return instance.cdap.studio.validate_pipeline(PipelineRequest(document, connected=connected))


def messages(answer: PipelineValidation) -> list[str]:
    return [failure.message for failure in answer.errors]


def test_a_source_reads_a_view_only_if_it_may(instance):
    found = validate(instance, pipeline(source(enableQueryingViews="false"), sink("out")))
    assert messages(found) == [NOT_ENABLED]
    (failure,) = validate(instance, pipeline(source(), sink("out"))).errors
    assert (failure.stage, failure.message) == ("In", NOT_ENABLED)
    assert failure.corrective_action == (
        "In order to enable query views, please enable 'Enable Querying Views'"
    )
    for more in (
        {"enableQueryingViews": "true"},
        {
            "enableQueryingViews": "true",
            "viewMaterializationProject": "p",
            "viewMaterializationDataset": "d",
        },
        {"enableQueryingViews": "${views}"},
    ):
        assert messages(validate(instance, pipeline(source(**more), sink("out")))) == []
    assert messages(validate(instance, pipeline(source("items"), sink("out")))) == []
    schema = str(Schema.record("r", [("id", Schema.LONG)]))
    unconnected = pipeline(source(schema=schema), sink("out"))
    assert messages(validate(instance, unconnected, connected=False)) == []
    assert messages(validate(instance, unconnected)) == [NOT_ENABLED]


def test_the_schema_of_a_view_is_that_of_its_query(instance):
    answer = validate(instance, pipeline(source(enableQueryingViews="true"), sink("out")))
    assert answer.spec is not None
    (found,) = [stage.output_schema for stage in answer.spec.stages if stage.name == "In"]
    assert found is not None
    assert [(each.name, each.schema) for each in found] == [
        ("id", Schema.LONG.as_nullable),
        ("name", Schema.STRING.as_nullable),
        ("total", Schema.LONG.as_nullable),
    ]
    wrong = Schema.record("r", [("id", Schema.STRING), ("price", Schema.DOUBLE)])
    document = pipeline(source(enableQueryingViews="true", schema=str(wrong)), sink("out"))
    typed, missing = messages(validate(instance, document))
    assert typed.startswith(
        "Field 'id' of type 'string' is incompatible with column 'id' of type 'long'"
    )
    assert missing == "Field 'price' is not present in table 'shop.dear'."


def test_a_view_that_cannot_be_read_says_why(instance):
    document = pipeline(source("broken", enableQueryingViews="true"), sink("out"))
    assert messages(validate(instance, document))[:1] == [
        "View 'shop.broken' cannot be read: Table with name shop.gone does not exist!"
    ]


@pytest.mark.parametrize(
    "plugin",
    [
        sink("dear"),
        sink("dear", truncateTable="true"),
        sink("dear", operation="Upsert", relationTableKey="id"),
        ("batchsink", "Table", {"name": "shop.dear", "schema.row.field": "id"}),
        ("batchsink", "KVTable", {"name": "shop.dear", "key.field": "name", "value.field": "name"}),
    ],
)
def test_no_sink_takes_a_view(instance, plugin: Plugin):
    answer = validate(instance, pipeline(source("items"), plugin))
    assert (messages(answer), answer.errors[0].stage) == ([IS_VIEW], "Out")


@pytest.mark.spark
def test_a_run_creates_a_view_and_reads_it(instance, cdap_engine_directory):
    create: Plugin = (
        "action",
        "BigQueryExecute",
        {
            "sql": "CREATE TEMP TABLE limits AS SELECT 1 AS least;"
            "CREATE OR REPLACE TABLE shop.limits AS SELECT least FROM limits;"
            "CREATE OR REPLACE VIEW shop.many(nr, label, day, total) AS SELECT i.id, i.name, "
            "DATE '2026-01-02', SUM(i.id) OVER () FROM shop.items i, shop.limits l WHERE i.id >= l.least",
        },
    )
    read = source("many", enableQueryingViews="${views}", filter="nr < 9")
    schema = Schema.record(
        "r",
        [
            ("nr", Schema.LONG.as_nullable),
            ("label", Schema.STRING.as_nullable),
            ("day", Schema.DATE.as_nullable),
            ("total", Schema.LONG.as_nullable),
        ],
    )
    read[2]["schema"] = str(schema)
    document = pipeline(read, sink("read", truncateTable="true"), create)

    run = instance.run(document, arguments={"views": "true"})

    assert run.error is None
    held: list[list[Any]] = instance.cdap.tables.read_rows("default", "shop.read", 9).rows
    assert sorted(held) == [[1, "a", "2026-01-02", 3], [2, "b", "2026-01-02", 3]]
    names = [each.name for each in instance.cdap.tables.list_tables("default")]
    assert "shop.many" in names
    assert not [
        name
        for name in names
        if name.rpartition(".")[2].startswith(("tmp", "_")) or name == "limits"
    ]

    refused = instance.run(document, arguments={"views": "false"})
    assert refused.error is not None
    assert "'many' is a 'View' :" in refused.error.message
