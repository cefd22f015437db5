"""BigQueryTable: names, failures, translated conditions, and tables written in every mode."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localcdap.api.schema import Schema
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance

ITEM = Schema.record(
    "item", [("id", Schema.INT), ("at", Schema.INT), ("name", Schema.STRING.as_nullable)]
)
SCHEMA = json.dumps(ITEM.to_json())


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        yield made


def stage(type: str, name: str, **properties: str) -> dict[str, Any]:
    return {"type": type, "name": name, "properties": properties}


def table(type: str, **more: str) -> dict[str, Any]:
    return stage(type, "BigQueryTable", **({"dataset": "shop", "table": "items"} | more))


def pipeline(source: dict[str, Any], sink: dict[str, Any]) -> str:
    stages = [{"name": "In", "plugin": source}, {"name": "Out", "plugin": sink}]
    config = {"stages": stages, "connections": [{"from": "In", "to": "Out"}]}
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def failures(
    instance, source: dict[str, Any], sink: dict[str, Any], *, connected: bool = False
) -> list[tuple[str, str]]:
    request = PipelineRequest(pipeline(source, sink), connected=connected)
    answer = instance.cdap.studio.validate_pipeline(request)
    return [(failure.stage, failure.message) for failure in answer.errors]


def test_what_real_exports_hold_is_valid(instance):
    source = table(
        "batchsource",
        project="auto-detect",
        serviceAccountType="filePath",
        serviceFilePath="auto-detect",
        enableQueryingViews="false",
        useConnection="false",
        schema=SCHEMA,
        filter="name LIKE 'a%' AND SAFE_CAST(at AS INT64) > 1",
    )
    sink = table(
        "batchsink",
        project="auto-detect",
        operation="upsert",
        relationTableKey="id",
        dedupeBy="at desc",
        truncateTable="false",
        allowSchemaRelaxation="true",
        location="US",
        createPartitionedTable="false",
        partitioningType="TIME",
        partitionFilterRequired="false",
        schema=SCHEMA,
    )
    request = PipelineRequest(pipeline(source, sink))
    answer = instance.cdap.studio.validate_pipeline(request)
    assert (answer.errors, answer.warnings) == ([], [])


def test_everything_wrong_is_reported_at_once(instance):
    source = table("batchsource", dataset="a-b", filter="price >", partitionFrom="2020")
    sink = table(
        "batchsink",
        table="a/b",
        operation="Update",
        truncateTable="true",
        partitionFilter="U.x = 1",
        schema=SCHEMA,
    )
    found = failures(instance, source, sink)
    assert [message for stage, message in found if stage == "In"] == [
        "Invalid BigQuery dataset name 'a-b'.",
        "Invalid partition start date '2020'.",
        found[2][1],
    ]
    assert found[2][1].startswith("This is not SQL of BigQuery:")
    assert "line 1" in found[2][1]
    assert [message for stage, message in found if stage == "Out"] == [
        "Invalid BigQuery table name 'a/b'.",
        "Table key must be set if the operation is 'Update' or 'Upsert'.",
        "Truncate must only be used with operation 'Insert'.",
        "'U.x' is not a column of the table (line 1, column 1).",
        "Input schema of stage 'Out' is unknown because stage 'In' is invalid.",
    ]


def test_keys_and_orders_are_fields(instance):
    keys = {"relationTableKey": "nr,id,id", "dedupeBy": "when desc,at up"}
    source = table("batchsource", schema=SCHEMA)
    assert failures(instance, source, table("batchsink", operation="Upsert", **keys)) == [
        ("Out", "Table key field 'nr' does not exist in the schema."),
        ("Out", "Table key field 'id' is duplicated."),
        ("Out", "Dedupe by field 'when' does not exist in the schema."),
        ("Out", "'at up' has no valid order."),
    ]
    assert failures(instance, source, table("batchsink", operation="Insert", **keys)) == []


def test_fields_that_may_be_null_need_not_come_in(instance):
    written = Schema.record(
        "w",
        [
            ("id", Schema.LONG),
            ("at", Schema.STRING),
            ("more", Schema.STRING.as_nullable),
            ("must", Schema.INT),
        ],
    )
    sink = table("batchsink", table="other", schema=str(written))
    assert failures(instance, table("batchsource", schema=SCHEMA), sink) == [
        ("Out", "Required output field 'must' must be present in input schema."),
    ]


def test_a_statement_is_no_condition(instance):
    ((_, message),) = failures(
        instance, table("batchsource", schema=SCHEMA, filter="DELETE FROM x"), table("batchsink")
    )
    assert message == "'DELETE FROM x' is a statement, not a condition."


def test_without_a_schema_the_table_must_be_there(instance):
    source = table("batchsource", table="nowhere")
    assert (
        "In",
        "The schema is not known, because table 'shop.nowhere' does not exist.",
    ) in failures(instance, source, table("batchsink"), connected=True)


def multi(**more: str) -> dict[str, Any]:
    return stage(
        "batchsink", "BigQueryMultiTable", **({"dataset": "many", "splitField": "name"} | more)
    )


def test_several_tables_are_distinguished_by_a_text(instance):
    source = table("batchsource", schema=SCHEMA)
    assert failures(instance, source, multi()) == []
    assert failures(instance, source, multi(splitField="id", allowFlexibleSchema="on")) == [
        ("Out", "Field 'id' is not a string."),
    ]


def fork(source: dict[str, Any], **sinks: dict[str, Any]) -> str:
    """Return a pipeline with one source and several sinks."""
    stages = [{"name": name, "plugin": plugin} for name, plugin in {"In": source, **sinks}.items()]
    connections = [{"from": "In", "to": name} for name in sinks]
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    config = {"stages": stages, "connections": connections}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def typed(**types: Schema) -> dict[str, str]:
    return {"schema": str(Schema.record("row", list(types.items())))}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (Schema.DATETIME, Schema.STRING.as_nullable, None),
        (Schema.INT, Schema.LONG, None),
        (Schema.decimal(10, 2), Schema.decimal(38, 20), None),
        (Schema.DATE, Schema.DATE.as_nullable, None),
        (Schema.DATE, Schema.STRING, "DATE and STRING or DATETIME"),
        (Schema.BOOLEAN, Schema.LONG, "BOOLEAN and INTEGER"),
        (Schema.TIMESTAMP, Schema.DATETIME, "TIMESTAMP and STRING or DATETIME"),
        (Schema.array(Schema.LONG), Schema.LONG, "array of INTEGER and INTEGER"),
    ],
)
def test_two_sinks_write_one_column_with_one_type(instance, first, second, message):
    source = table("batchsource", table="src", **typed(k=Schema.STRING))
    sinks = {
        "I": table("batchsink", table="dst", **typed(k=Schema.STRING, d=first.as_nullable)),
        "U": table("batchsink", table="dst", **typed(k=Schema.STRING, d=second.as_nullable)),
    }
    expected = (
        f"Stages 'I' and 'U' write column 'd' of table 'shop.dst' with different types: {message}."
    )

    answer = instance.cdap.studio.validate_pipeline(PipelineRequest(fork(source, **sinks)))
    assert [each.message for each in answer.errors] == ([expected] if message else [])
    sinks["U"]["properties"]["table"] = "other"
    answer = instance.cdap.studio.validate_pipeline(PipelineRequest(fork(source, **sinks)))
    assert answer.errors == []


@pytest.mark.spark
def test_two_sinks_write_one_new_table(instance, cdap_engine_directory):
    (instance.home.path / "moments.csv").write_text("a,2024-01-02T03:04:05\n")
    moment, text = (
        typed(k=Schema.STRING, d=Schema.DATETIME),
        typed(k=Schema.STRING, d=Schema.STRING),
    )
    source = stage(
        "batchsource", "File", referenceName="r", path="moments.csv", format="csv", **moment
    )
    keyed = {"operation": "upsert", "relationTableKey": "k"}
    sinks = {
        "I": table("batchsink", table="moments", **moment),
        "U": table("batchsink", table="moments", **text, **keyed),
        "J": table("batchsink", table="texts", **text),
        "V": table("batchsink", table="texts", **moment, **keyed),
    }
    run = instance.run(fork(source, **sinks))
    assert run.error is None
    for name, type in (("shop.moments", Schema.DATETIME), ("shop.texts", Schema.STRING)):
        rows = instance.cdap.tables.read_rows("default", name, 9).rows
        assert rows == [["a", "2024-01-02T03:04:05"]]
        column = instance.cdap.tables.read_shapes("default")[name].schema.field("d")
        assert column.schema.non_nullable == type

    more = table("batchsink", table="fresh", **typed(k=Schema.STRING, d=Schema.DATETIME))
    less = table("batchsink", table="fresh", **typed(k=Schema.STRING))
    failed = instance.run(fork(source, Less=less, More=more))
    assert failed.error is not None
    assert failed.error.message == (
        "Stage 'More': Table 'shop.fresh' has no column 'd'. Stage 'Less' creates the table."
    )


@pytest.mark.spark
def test_records_go_into_the_tables_that_arguments_name(instance, cdap_engine_directory):
    (instance.home.path / "many.csv").write_text("1,1,a\n2,7,b\n3,1,a\n4,1,c\n5,1,\n")
    lines = stage(
        "batchsource", "File", referenceName="r", path="many.csv", format="csv", schema=SCHEMA
    )
    only_id = str(Schema.record("r", [("id", Schema.LONG)]))
    both = str(Schema.record("r", [("at", Schema.INT), ("id", Schema.INT.as_nullable)]))
    arguments = {"multisink.a": only_id, "multisink.db.b": both, "multisink.none": only_id}

    run = instance.run(pipeline(lines, multi()), arguments=arguments)

    assert run.error is None
    assert run.stages["Out"].records_in == 5

    def rows(name: str) -> list[list[Any]]:
        return sorted(instance.cdap.tables.read_rows("default", f"many.{name}", 100).rows)

    assert (rows("a"), rows("b"), rows("none")) == ([[1], [3]], [[7, 2]], [])

    whole = [[1, 1, "a"], [3, 1, "a"]]
    (instance.home.path / "many.csv").write_text("1,1,a\n2,7,b\n3,1,a\n")
    flexible = instance.run(pipeline(lines, multi(dataset="flex", allowFlexibleSchema="on")))
    assert flexible.error is None
    assert sorted(instance.cdap.tables.read_rows("default", "flex.a", 100).rows) == whole

    none = instance.run(pipeline(lines, multi()))
    assert none.error is not None
    assert "no argument names a table" in none.error.message
    wrong = str(Schema.record("r", [("other", Schema.INT), ("name", Schema.INT)]))
    failed = instance.run(pipeline(lines, multi()), arguments={"multisink.a": wrong})
    assert failed.error is not None
    assert "field 'other' of table 'a' is missing in the records" in failed.error.message


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("first", ["A", "Z"])
def test_a_sink_of_many_tables_shares_a_new_table(instance, cdap_engine_directory, first: str):
    (instance.home.path / "both.csv").write_text("a,2024-01-02T03:04:05\n")
    moment = Schema.record("r", [("name", Schema.STRING), ("d", Schema.DATETIME)])
    text = Schema.record("r", [("name", Schema.STRING), ("d", Schema.STRING)])
    source = stage(
        "batchsource", "File", referenceName="r", path="both.csv", format="csv", schema=str(moment)
    )
    dataset = f"shared_{first.lower()}"
    sinks = {
        first: multi(dataset=dataset),
        "M": table("batchsink", dataset=dataset, table="a", schema=str(text)),
        "N": multi(dataset=dataset),
    }

    run = instance.run(fork(source, **sinks), arguments={"multisink.a": str(moment)})

    assert run.error is None
    rows = instance.cdap.tables.read_rows("default", f"{dataset}.a", 9).rows
    assert rows == [["a", "2024-01-02T03:04:05"]] * 3

    (instance.home.path / "both.csv").write_text("b,2024-01-02T03:04:05\n")
    less = {
        **sinks,
        first: table("batchsink", dataset=dataset, table="b", **typed(name=Schema.STRING)),
    }
    failed = instance.run(fork(source, **less), arguments={"multisink.b": str(moment)})
    assert failed.error is not None
    assert f"Table '{dataset}.b' has no column 'd'." in failed.error.message


@pytest.mark.spark
def test_texts_become_the_types_of_their_tables(instance, cdap_engine_directory):
    (instance.home.path / "texts.csv").write_text("1,2026-01-02,a\nx,y,b\n")
    fields = [(name, Schema.STRING.as_nullable) for name in ("id", "day", "name")]
    lines = stage(
        "batchsource",
        "File",
        referenceName="r",
        path="texts.csv",
        format="csv",
        schema=str(Schema.record("r", fields)),
    )
    typed = Schema.record("a", [("id", Schema.INT), ("day", Schema.DATE.as_nullable)])
    arguments = {
        "multisink.a": str(typed),
        "multisink.b": str(Schema.record("b", [("id", Schema.STRING)])),
    }

    run = instance.run(pipeline(lines, multi(dataset="typed")), arguments=arguments)

    assert run.error is None
    read = instance.cdap.tables.read_rows
    assert read("default", "typed.a", 9).rows == [[1, "2026-01-02"]]
    assert read("default", "typed.b", 9).rows == [["x"]]
    wrong = {"multisink.b": arguments["multisink.a"]}
    failed = instance.run(pipeline(lines, multi(dataset="typed_no")), arguments=wrong)
    assert failed.error is not None
    assert "Field 'id' must be a" in failed.error.message


@pytest.mark.spark
def test_tables_are_written_and_read(instance, cdap_engine_directory):
    folder = instance.home.path
    lines = stage(
        "batchsource", "File", referenceName="r", path="in.csv", format="csv", schema=SCHEMA
    )

    def write(text: str, **how: str) -> list[list[Any]]:
        (folder / "in.csv").write_text(text)
        run = instance.run(pipeline(lines, table("batchsink", **how)))
        assert run.error is None
        return sorted(instance.cdap.tables.read_rows("default", "shop.items", 100).rows)

    assert write("1,1,a\n2,1,b\n") == [[1, 1, "a"], [2, 1, "b"]]
    assert write("2,1,b\n") == [[1, 1, "a"], [2, 1, "b"], [2, 1, "b"]]
    assert write("1,1,a\n2,1,b\n", truncateTable="true") == [[1, 1, "a"], [2, 1, "b"]]
    keyed = {"operation": "Upsert", "relationTableKey": "id", "dedupeBy": "at desc"}
    assert write("2,2,x\n3,1,c\n2,3,y\n", **keyed) == [[1, 1, "a"], [2, 3, "y"], [3, 1, "c"]]

    # Without an order nothing says which of two counts: BigQuery's MERGE refuses that too.
    (folder / "in.csv").write_text("4,1,d\n3,1,e\n4,2,f\n")
    twice = instance.run(pipeline(lines, table("batchsink", **keyed | {"dedupeBy": ""})))
    assert twice.error is not None
    assert (twice.error.stage, twice.error.message) == (
        "Out",
        "Stage 'Out': 2 of the records for table 'shop.items' have the same key: id = 4.",
    )

    out = stage("batchsink", "File", referenceName="o", path="out", format="csv")
    condition = "id IN UNNEST([2, 3]) AND name != 'c' AND CAST(AT + 0.5 AS INT64) = 4"
    given = table("batchsource", schema=SCHEMA, filter=condition)
    run = instance.run(pipeline(given, out))
    assert run.error is None
    assert "".join(f.read_text() for f in sorted((folder / "out").iterdir())) == "2,3,y\n"

    # The schema is that of the table, where the pipeline says none, when it is validated and when it runs.
    copy = table("batchsink", table="copies")
    assert failures(instance, table("batchsource"), copy, connected=True) == []
    assert instance.run(pipeline(table("batchsource"), copy)).error is None
    assert len(instance.cdap.tables.read_rows("default", "shop.copies", 100).rows) == 3
    other = [{"name": "id", "type": "string"}, {"name": "more", "type": "int"}]
    lines["properties"]["schema"] = json.dumps({"type": "record", "name": "o", "fields": other})
    assert failures(instance, lines, copy, connected=True) == [
        (
            "Out",
            (
                "Field 'id' of type 'string' is incompatible with column 'id' of type 'long' in BigQuery "
                "table 'shop.copies'."
            ),
        ),
        ("Out", "Field 'more' does not exist in BigQuery table 'shop.copies'."),
        ("Out", "Required Column 'at' is not present in the schema."),
    ]
