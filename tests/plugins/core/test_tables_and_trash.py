"""The Table source and sink, and the Trash sink."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from core_plugins.tables.tables import TableSink

from localcdap.api.errors import StageError
from localcdap.api.stage import StageConfigurer
from localcdap.api.tables import TableShape
from localcdap.engine.messages.host import TableFiles, TableLoad
from localcdap.store.store import Store
from localcdap.store.tables import NamespaceTables
from localcdap.testing import PipelineTester, artifact_ref, run_stage
from tests.plugins.core.support import (
    ARTIFACT,
    configure,
    messages,
    plugin_ref,
    record,
    schema_text,
)

ROW = record(id="int", name=["string", "null"], score=["double", "null"])


class Tables:
    """The tables of a store, as a run sees them."""

    def __init__(self, path: Path) -> None:
        self.store = Store(path / "tables.duckdb")
        self.tables = NamespaceTables(self.store)
        self.snapshots = path / "snapshots"

    def apply(self, load: TableLoad) -> None:
        files = sorted(Path(load.directory).glob("*.parquet"))
        with self.store.transaction() as tx:
            self.tables.upsert_parquet(tx, load.namespace, load.name, load.schema, load.key, files)

    def export(self, namespace: str, name: str) -> TableFiles:
        snapshot = self.tables.export_parquet(namespace, name, self.snapshots)
        return TableFiles(snapshot.schema, snapshot.files)


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Tables]:
    made = Tables(tmp_path)
    yield made
    made.store.close()


def test_the_key_may_have_another_case_if_it_is_not_case_sensitive():
    key = {"name": "t", "schema.row.field": "ID"}
    given = record(id="int", name="string")
    assert messages(configure("batchsink", "Table", key, given=given)) == [
        "Output schema should contain the rowkey column."
    ]
    relaxed = key | {"case.sensitive.row.field": "false"}
    assert messages(configure("batchsink", "Table", relaxed, given=given)) == []


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"schema.row.field": "x"}, "Output schema should contain the rowkey column."),
        (
            {"schema.row.field": "id", "schema": schema_text(id="int")},
            "Output schema should have columns other than rowkey.",
        ),
        (
            {"schema.row.field": "id", "schema": schema_text(id="int", more="int")},
            "Field 'more' is present in output schema but not present in input schema.",
        ),
        (
            {"schema.row.field": "id", "schema": schema_text(id="int", name="int")},
            "Field 'name' has type mismatch with input schema type 'string'.",
        ),
        ({"schema.row.field": ""}, "Required property 'schema.row.field' has no value."),
        ({"schema.row.field": "id", "name": "a/b"}, "Invalid table name 'a/b'."),
    ],
)
def test_table_sink_refuses(properties: dict[str, str], expected: str):
    result = configure("batchsink", "Table", {"name": "t"} | properties, given=ROW)

    assert messages(result) == [expected]


def test_table_sink_takes_simple_types_only():
    nested = record(id="int", list={"type": "array", "items": "int"})

    result = configure("batchsink", "Table", {"name": "t", "schema.row.field": "id"}, given=nested)
    key = configure("batchsink", "Table", {"name": "t", "schema.row.field": "list"}, given=nested)

    (failure,) = result.failures
    assert failure.message == "Field 'list' is of unexpected type 'array'."
    assert messages(key) == messages(result)
    macros = ["name", "schema.row.field"]
    unknown = dict.fromkeys(macros, "${m}")
    assert configure("batchsink", "Table", unknown, given=ROW, macros=macros).failures == []


def test_table_source_configure():
    good = configure(
        "batchsource", "Table", {"name": "t", "schema": str(ROW), "schema.row.field": "id"}
    )
    assert (good.failures, good.output_schema) == ([], ROW)
    for key in ("name", "missing"):
        given = {"name": "t", "schema": str(ROW), "schema.row.field": key}
        (failure,) = configure("batchsource", "Table", given).failures
        assert failure.field == "schema.row.field"


@pytest.mark.parametrize("name", ["Table", "SnapshotAvro"])
def test_a_source_without_a_schema_takes_that_of_its_dataset(name):
    held = record(id="int", tags={"type": "array", "items": "int"})
    tables = {"t": TableShape(held, has_table=name == "Table")}
    given = {"name": "t"}
    simple = configure("batchsource", name, given)
    assert (simple.failures, simple.output_schema) == ([], None)
    found = configure("batchsource", name, given, connected=True, tables=tables)
    expected = ["id"] if name == "Table" else ["id", "tags"]
    assert found.output_schema.field_names == expected
    (missing,) = configure("batchsource", name, given, connected=True).failures
    assert missing.message.startswith("Schema must be specified, because there is no ")
    assert missing.field == "schema"
    if name == "Table":
        other = {"t": TableShape(held, has_table=False)}
        (no_table,) = configure("batchsource", name, given, connected=True, tables=other).failures
        assert "there is no table 't'" in no_table.message
    later = {"name": "${n}"}
    assert not configure("batchsource", name, later, macros=["name"], connected=True).failures


def test_the_key_of_a_found_schema_is_checked():
    given = {"name": "t", "schema.row.field": "key"}
    tables = {"t": TableShape(record(id="int"))}
    (failure,) = configure("batchsource", "Table", given, connected=True, tables=tables).failures
    assert failure.message == "Row field 'key' must exist in the schema."


def test_trash_takes_anything():
    assert configure("batchsink", "Trash", {}).failures == []
    assert messages(configure("batchsink", "Trash", {"referenceName": "a b"})) == [
        "Invalid reference name 'a b'."
    ]


@pytest.mark.spark
def test_rows_go_into_a_table_and_come_back(spark, tmp_path, tables):
    moment = {"type": "long", "logicalType": "timestamp-micros"}
    money = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    full = record(id="int", name=["string", "null"], at=[moment, "null"], price=[money, "null"])
    at = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    rows: list[dict[str, Any]] = [
        {"id": 1, "name": "é", "at": at, "price": decimal.Decimal("1.25")},
        {"id": 2, "name": None, "at": None, "price": None},
    ]

    sink = run_stage(
        spark,
        artifact_ref(ARTIFACT, "batchsink", "Table"),
        {"name": "t", "schema.row.field": "id"},
        {"in": (full, rows)},
        directory=tmp_path,
    )
    (load,) = sink.table_loads
    tables.apply(load)

    same = run_stage(
        spark,
        artifact_ref(ARTIFACT, "batchsource", "Table"),
        {"name": "t", "schema": str(full)},
        directory=tmp_path,
        tables=tables,
    )
    assert sorted(same.records, key=lambda r: r["id"]) == rows
    wanted = record(name=["string", "null"], id="long", new=["int", "null"])
    source = run_stage(
        spark,
        artifact_ref(ARTIFACT, "batchsource", "Table"),
        {"name": "t", "schema": str(wanted)},
        directory=tmp_path,
        tables=tables,
    )
    assert sorted(source.records, key=lambda r: r["id"]) == [
        {"name": "é", "id": 1, "new": None},
        {"name": None, "id": 2, "new": None},
    ]
    wrong = {"name": "t", "schema": schema_text(name="int")}
    with pytest.raises(StageError, match="field 'name' is of type string in the data"):
        run_stage(
            spark,
            artifact_ref(ARTIFACT, "batchsource", "Table"),
            wrong,
            directory=tmp_path,
            tables=tables,
        )


@pytest.mark.spark
@pytest.mark.parametrize(
    ("plugin", "properties"),
    [
        ("Table", {"name": "t", "schema.row.field": "id"}),
        ("KVTable", {"name": "t", "key.field": "id", "value.field": "v"}),
    ],
)
def test_a_row_without_key_fails_the_run_with_its_record(spark, tmp_path, plugin, properties):
    rows = [{"id": "a", "v": "1"}, {"id": None, "v": "2"}]
    keyless = (record(id=["string", "null"], v=["string", "null"]), rows)

    with pytest.raises(StageError, match="Field 'id' is null, but the key of a row must") as failed:
        run_stage(
            spark,
            artifact_ref(ARTIFACT, "batchsink", plugin),
            properties,
            {"in": keyless},
            directory=tmp_path,
        )
    assert failed.value.stage == "stage"
    assert str(failed.value).endswith("Record: {id: None, v: '2'}")


@pytest.mark.spark
def test_trash_computes_and_counts_everything(spark, tmp_path):
    (tmp_path / "a.csv").write_text("1\n2\n3\n")
    read = {"referenceName": "r", "path": "a.csv", "format": "csv", "schema": schema_text(a="int")}
    pipeline = PipelineTester(spark, tmp_path)
    pipeline.stage("source", plugin_ref("batchsource", "File"), read)
    pipeline.stage("trash", plugin_ref("batchsink", "Trash"), {"referenceName": "t"}, ["source"])

    counts = pipeline.run()

    assert counts["source"].out == 3
    (tmp_path / "a.csv").write_text("1\nx\n")
    with pytest.raises(StageError, match="Field 'a' must be of type int"):
        pipeline.run()


@pytest.mark.spark
def test_dates_that_python_does_not_have_pass_from_file_to_file(spark, tmp_path):
    """Years after 9999 and before 1, which Spark and the formats have; those of JSON are refused."""
    day = {"type": "int", "logicalType": "date"}
    (tmp_path / "far.csv").write_text("+12024-01-02,-0001-03-04\n")
    schema = str(record(late=day, early=day))
    for number, (format, path) in enumerate(
        [("csv", "far.csv"), ("parquet", "out0"), ("orc", "out1")]
    ):
        read = {"referenceName": "r", "path": path, "format": format, "schema": schema}
        target = ["parquet", "orc", "csv"][number]
        pipeline = PipelineTester(spark, tmp_path)
        pipeline.stage("source", plugin_ref("batchsource", "File"), read)
        write = {"path": f"out{number}", "format": target}
        pipeline.stage("sink", plugin_ref("batchsink", "File"), write, ["source"])
        pipeline.run()

    (result,) = (tmp_path / "out2").iterdir()
    assert result.read_text() == "+12024-01-02,-0001-03-04\n"


@pytest.mark.parametrize(
    ("key", "reported"),
    [
        ("id", []),
        ("name", ["The rows of table 't' have key 'name', but the rows to write have key 'id'."]),
        (None, ["The rows of table 't' have no key, but the rows to write have key 'id'."]),
    ],
)
def test_a_table_with_another_key_is_reported_before_the_run(key: str | None, reported: list[str]):
    stage = StageConfigurer("Sink", {"in": ROW})
    stage.find_table = lambda name: TableShape(ROW, key) if name == "t" else None
    for name in ("t", "new"):
        properties = {"name": name, "schema.row.field": "id"}
        config = TableSink.Config.build(properties, stage.failures)
        TableSink(config).configure_connected(stage)
    assert [failure.message for failure in stage.failures] == reported
