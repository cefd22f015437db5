"""BigQueryTable: which fields fit into which columns, and the values that are written and read."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.datasets.model import DatasetRequest
from localcdap.engine.host_client import execute_statements
from localcdap.engine.messages.host import StatementBatch
from localcdap.testing import StageTester, TableData, artifact_ref, run_stage
from localcdap.testing.instance import TemporaryInstance
from tests.plugins.cloud.test_actions import PLUGINS

TABLE = {"dataset": "shop", "table": "items"}
SMALL, NUMERIC, BIG = Schema.decimal(10, 2), Schema.decimal(38, 9), Schema.decimal(38, 18)


def schema(**types: Schema) -> Schema:
    return Schema.record("r", list(types.items()))


def check_sink(held: Schema | None, given: Schema, **properties: str) -> list[str]:
    """The failures of a sink, with a table of these columns."""
    return check("batchsink", held, TABLE | properties, given)


def check_source(held: Schema | None, read: Schema) -> list[str]:
    return check("batchsource", held, TABLE | {"schema": str(read)})


def check(
    type: str, held: Schema | None, properties: dict[str, str], given: Schema | None = None
) -> list[str]:
    found = load_plugin(artifact_ref(PLUGINS, type, "BigQueryTable"))
    tables = {} if held is None else {"shop.items": TableData(held, [])}
    stage = StageTester(found, properties, given, tables=tables)
    return [failure.message for failure in stage.failures]


@pytest.mark.parametrize(
    ("column", "field"),
    [
        (NUMERIC, SMALL),
        (SMALL, NUMERIC),
        (SMALL, Schema.decimal(76, 38)),
        (Schema.INT, Schema.LONG),
        (Schema.DOUBLE, Schema.FLOAT),
        (Schema.STRING, Schema.DATETIME),
        (Schema.DATETIME, Schema.STRING),
        (Schema.array(Schema.LONG), Schema.array(Schema.INT)),
    ],
)
def test_columns_accept_fields_as_in_bigquery(column: Schema, field: Schema):
    assert check_sink(schema(x=column), schema(x=field)) == []
    assert check_source(schema(x=column), schema(x=field)) == []


@pytest.mark.parametrize(
    ("column", "field", "reported"),
    [
        (Schema.STRING, Schema.INT, "column 'x' of type 'string or datetime'"),
        (Schema.DOUBLE, Schema.INT, "column 'x' of type 'double'"),
        (Schema.DATE, Schema.STRING, "column 'x' of type 'date'"),
        (NUMERIC, Schema.DOUBLE, "column 'x' of type 'decimal'"),
        (Schema.array(Schema.INT), Schema.INT, "column 'x' of type 'array of long'"),
        (
            SMALL,
            Schema.decimal(80, 2),
            "Decimal Field 'x' has invalid precision '80' and scale '2'.",
        ),
    ],
)
def test_columns_refuse_fields_as_in_bigquery(column: Schema, field: Schema, reported: str):
    (message,) = check_sink(schema(x=column), schema(x=field))
    assert reported in message
    assert check_sink(schema(x=column), schema(x=field), truncateTable="true") == []


def test_the_schema_of_a_sink_is_not_compared_with_the_input():
    given = schema(a=SMALL, b=Schema.DATETIME, c=Schema.STRING, d=Schema.INT)
    written = schema(a=NUMERIC, b=Schema.STRING, c=Schema.LONG, d=Schema.STRING)
    assert check_sink(None, given, schema=str(written)) == []
    nested = schema(a=Schema.array(Schema.INT))
    assert check_sink(None, nested, schema=str(schema(a=Schema.STRING))) == [
        "Field 'a' has type mismatch with input schema type 'array'."
    ]


def test_columns_that_must_have_a_value_get_one():
    held = schema(a=Schema.INT, b=Schema.STRING.as_nullable)
    assert check_sink(held, schema(a=Schema.INT)) == []
    assert check_sink(held, schema(b=Schema.STRING, c=Schema.INT)) == [
        "Field 'c' does not exist in BigQuery table 'shop.items'.",
        "Required Column 'a' is not present in the schema.",
    ]
    assert check_sink(held, schema(a=Schema.INT.as_nullable)) == ["Field 'a' cannot be nullable."]
    relaxed = {"allowSchemaRelaxation": "true"}
    assert check_sink(held, schema(a=Schema.INT.as_nullable), **relaxed) == []
    assert check_sink(held, schema(a=Schema.INT, c=Schema.INT), **relaxed) == [
        "Required field 'c' does not exist in BigQuery table 'shop.items'."
    ]


def test_a_source_reads_only_what_its_table_has():
    held = schema(a=Schema.LONG)
    missing = "Field 'b' is not present in table 'shop.items'."
    assert check_source(held, schema(a=Schema.LONG, b=Schema.STRING.as_nullable)) == [missing]
    assert check_source(held, schema(b=Schema.STRING)) == [missing]
    assert check_source(None, held) == ["BigQuery table 'shop.items' does not exist."]


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        yield made


def pipeline(source: dict[str, Any], sink: dict[str, Any]) -> str:
    stages = [{"name": "In", "plugin": source}, {"name": "Out", "plugin": sink}]
    config = {"stages": stages, "connections": [{"from": "In", "to": "Out"}]}
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def plugin(type: str, name: str, **properties: str) -> dict[str, Any]:
    return {"type": type, "name": name, "properties": properties}


@pytest.mark.slow
@pytest.mark.spark
def test_values_are_converted_as_bigquery_converts_them(instance, cdap_engine_directory):
    (instance.home.path / "in.csv").write_text("1,12.345,2026-02-01T10:00:00,7,2026-02-03\n")
    given = schema(
        id=Schema.INT,
        n=Schema.decimal(10, 3),
        moment=Schema.DATETIME,
        t=Schema.STRING,
        d=Schema.DATE,
    )
    lines = plugin(
        "batchsource", "File", referenceName="r", path="in.csv", format="csv", schema=str(given)
    )
    sink = plugin("batchsink", "BigQueryTable", **TABLE)

    def write(sink: dict[str, Any]) -> list[list[Any]]:
        run = instance.run(pipeline(lines, sink))
        assert run.error is None, run.error
        return sorted(instance.cdap.tables.read_rows("default", "shop.items", 9).rows)

    # A new table has BigQuery's types, which take every later number.
    first = [1, "12.345000000", "2026-02-01T10:00:00", "7", "2026-02-03"]
    assert write(sink) == [first]
    held = instance.cdap.tables.read_shapes("default")["shop.items"].schema
    assert held == schema(
        id=Schema.LONG, n=NUMERIC, moment=Schema.DATETIME, t=Schema.STRING, d=Schema.DATE
    ).renamed(held.name)

    # A table of another plugin keeps its types; a schema of the sink converts.
    create = (
        'CREATE OR REPLACE TABLE "shop.items" (id INTEGER, n DECIMAL(10, 2), moment VARCHAR, t BIGINT, '
        "d TIMESTAMP)"
    )
    execute_statements(
        str(instance.home.path), StatementBatch("default", [create], ["shop.items"], [])
    )
    to = schema(id=Schema.LONG, n=BIG, moment=Schema.STRING, t=Schema.LONG, d=Schema.DATETIME)
    typed = plugin("batchsink", "BigQueryTable", **TABLE, schema=str(to))
    rounded = [1, "12.35", "2026-02-01T10:00:00", 7, "2026-02-03T00:00:00"]
    assert write(typed) == [rounded]

    (instance.home.path / "in.csv").write_text("1,12.345,2026-02-01T10:00:00,seven,2026-02-03\n")
    failed = instance.run(pipeline(lines, typed))
    assert failed.error is not None
    assert "Field 't' must be a long, but it is 'seven'." in failed.error.message

    # A source never loses digits.
    execute_statements(
        str(instance.home.path),
        StatementBatch(
            "default", ['INSERT INTO "shop.items"(n) VALUES (1.25)'], ["shop.items"], []
        ),
    )
    read = schema(n=Schema.decimal(10, 1).as_nullable)
    source = plugin("batchsource", "BigQueryTable", **TABLE, schema=str(read))
    other = plugin("batchsink", "BigQueryTable", dataset="shop", table="other")
    lost = instance.run(pipeline(source, other))
    assert lost.error is not None
    assert "Field 'n' must be a decimal(10, 1), but it is '12.35'." in lost.error.message


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(("n", "written"), [("2.0", 2), ("2.7", None)])
@pytest.mark.parametrize("name", ["BigQueryTable", "BigQueryMultiTable"])
def test_a_sink_never_cuts_a_number(instance, cdap_engine_directory, name: str, n: str, written):
    create = 'CREATE OR REPLACE TABLE "shop.whole" (n BIGINT, kind VARCHAR)'
    execute_statements(
        str(instance.home.path), StatementBatch("default", [create], ["shop.whole"], [])
    )
    (instance.home.path / "in.csv").write_text(f"{n},whole\n")
    given = schema(n=Schema.DOUBLE, kind=Schema.STRING)
    lines = plugin(
        "batchsource", "File", referenceName="r", path="in.csv", format="csv", schema=str(given)
    )
    more = {"splitField": "kind"} if name == "BigQueryMultiTable" else {"table": "whole"}
    if name == "BigQueryTable":
        more["schema"] = str(schema(n=Schema.LONG, kind=Schema.STRING))
    sink = plugin("batchsink", name, dataset="shop", referenceName="o", **more)
    run = instance.run(pipeline(lines, sink), arguments={"multisink.whole": str(given)})
    rows = instance.cdap.tables.read_rows("default", "shop.whole", 9).rows
    if written is not None:
        assert (run.error, rows) == (None, [[written, "whole"]])
    else:
        assert run.error is not None
        assert "Field 'n' must be of type long, but it is 2.7." in run.error.message
        assert rows == []


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", ["BigQueryTable", "BigQueryMultiTable"])
def test_arrays_have_no_null(instance, spark, name: str):
    items = Schema.array(Schema.STRING.as_nullable).as_nullable
    part = Schema.record("part", [("list", items)]).as_nullable
    given = schema(
        kind=Schema.STRING,
        list=items,
        part=part,
        parts=Schema.array(part).as_nullable,
        number=Schema.INT.as_nullable,
    )
    lines = plugin(
        "batchsource", "File", referenceName="r", path="in.json", format="json", schema=str(given)
    )
    more = {"splitField": "kind"} if name == "BigQueryMultiTable" else {"table": "arrays"}
    sink = plugin(
        "batchsink", name, dataset="shop", referenceName="o", truncateTable="true", **more
    )

    def write(*rows: dict[str, Any]) -> Any:
        text = "\n".join(json.dumps({"kind": "arrays", **row}) for row in rows)
        (instance.home.path / "in.json").write_text(text)
        return instance.run(pipeline(lines, sink), arguments={"multisink.arrays": str(given)})

    filled = {"list": ["a"], "part": {"list": ["b"]}, "parts": [{"list": ["c"]}], "number": 1}
    run = write({"number": 3}, {"part": {}, "parts": [{}], "number": 2}, filled)
    assert run.error is None, run.error
    rows = instance.cdap.tables.read_rows("default", "shop.arrays", 9).rows
    assert sorted((row[1:] for row in rows), key=lambda row: row[-1]) == [
        [["a"], {"list": ["b"]}, [{"list": ["c"]}], 1],
        [[], {"list": []}, [{"list": []}], 2],
        [[], None, [], 3],
    ]

    for row, field in (
        ({"list": ["a", None]}, "list"),
        ({"part": {"list": [None]}}, "list"),
        ({"parts": [{"list": ["a"]}, None]}, "parts"),
        ({"parts": [{"list": [None]}]}, "list"),
    ):
        rows = [{"kind": "arrays", **each} for each in (filled, row)]
        with pytest.raises(
            StageError, match=f"Field '{field}' contains null values in its array"
        ) as caught:
            run_stage(
                spark,
                artifact_ref(PLUGINS, "batchsink", name),
                sink["properties"],
                {"in": (given, rows)},
                arguments={"multisink.arrays": str(given)},
            )
        assert caught.value.stage == "stage"


@pytest.mark.spark
def test_a_sink_widens_the_key_of_a_table_that_others_read(instance, cdap_engine_directory):
    narrow = schema(id=Schema.INT, s=Schema.STRING.as_nullable)
    instance.cdap.datasets.create(DatasetRequest("shop.wide", "table", {"schema": str(narrow)}))
    wide = schema(id=Schema.LONG, s=Schema.STRING)
    lines = plugin(
        "batchsource", "File", referenceName="r", path="in.csv", format="csv", schema=str(wide)
    )
    keyed = {"operation": "upsert", "relationTableKey": "id"}
    sink = plugin("batchsink", "BigQueryTable", dataset="shop", table="wide", **keyed)
    create = 'CREATE OR REPLACE VIEW "shop.doubled" AS SELECT id * 2 AS id, s FROM "shop.wide"'
    execute_statements(
        str(instance.home.path), StatementBatch("default", [create], ["shop.doubled"], [])
    )
    seen: set[str] = set()
    ended = threading.Event()

    def read(name: str) -> None:
        while not ended.is_set():
            seen.add(json.dumps(sorted(instance.cdap.tables.read_rows("default", name, 9).rows)))

    readers = [
        threading.Thread(target=read, args=(f"shop.{name}",)) for name in ("wide", "doubled")
    ]
    for reader in readers:
        reader.start()
    try:
        for texts in (("a", "b"), ("c", "d")):
            first, second = texts
            (instance.home.path / "in.csv").write_text(f"1,{first}\n3000000000,{second}\n")
            run = instance.run(pipeline(lines, sink))
            assert run.error is None, run.error
    finally:
        ended.set()
        for reader in readers:
            reader.join()

    expected: list[list[list[Any]]] = [
        [[1, first], [3000000000, second]] for first, second in (("a", "b"), ("c", "d"))
    ]
    doubled = [[[2 * id, text] for id, text in rows] for rows in expected]
    assert seen <= {json.dumps(rows) for rows in [[], *expected, *doubled]}
    assert sorted(instance.cdap.tables.read_rows("default", "shop.wide", 9).rows) == expected[1]
    held = instance.cdap.tables.read_shapes("default")["shop.wide"].schema
    assert held.field("id").schema == Schema.LONG

    source = plugin(
        "batchsource",
        "BigQueryTable",
        dataset="shop",
        table="doubled",
        enableQueryingViews="true",
        filter="id > 5999999999",
    )
    other = plugin("batchsink", "BigQueryTable", dataset="shop", table="from_view")
    run = instance.run(pipeline(source, other))
    assert run.error is None, run.error
    rows = instance.cdap.tables.read_rows("default", "shop.from_view", 9).rows
    assert rows == [[6_000_000_000, "d"]]
