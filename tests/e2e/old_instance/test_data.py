"""Tables, datasets, applications, metadata and lineage of an instance that an earlier version made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from localcdap.api.app import FieldType
from localcdap.api.errors import QueryError
from localcdap.apps.model import AppRequest
from localcdap.engine.host_client import execute_statements
from localcdap.engine.messages.host import StatementBatch
from localcdap.host.cdap import Cdap
from tests.e2e.old_instance.conftest import Ask, check_tables, read_rows

TENTH_OF_32_BITS = 0.10000000149011612
"""0.1 rounded to a float of 32 bits."""


def test_files_hold_timestamps_of_96_bits(home: Path):
    files = [
        *home.glob("data/stamps/*.parquet"),
        *home.glob("filesets/*/stamps_by_time/*/*/*.parquet"),
    ]

    assert len(files) == 2
    for file in files:
        columns = pq.ParquetFile(file).schema
        assert [columns.column(i).physical_type for i in range(4)] == [
            "INT32",
            "INT96",
            "INT64",
            "FLOAT",
        ]


def test_tables_of_pipelines(ask: Ask):
    check_tables(ask)


def list_types(cdap: Cdap, table: str) -> list[str]:
    """Return the types of the stored columns."""
    (found,) = (each for each in cdap.tables.list_tables("default") if each.name == table)
    return [field.schema.non_nullable.type.value for field in found.schema.fields]


def test_columns_of_32_bits(ask: Ask, cdap: Cdap):
    def read_types(table: str) -> list[str]:
        return [row[1] for row in ask("sql", f"DESCRIBE {table}")["rows"]]

    # A view reads the table, and sees BigQuery's types; the table keeps its own.
    assert read_types('"shop.limits"') == ["BIGINT", "BIGINT", "DOUBLE", "VARCHAR"]
    assert list_types(cdap, "shop.limits") == ["int", "int", "double", "string"]
    assert ask("sql", 'SELECT * FROM "shop.limits"')["rows"] == [[1, 2**31 - 1, 0.5, "kg"]]
    assert read_types("sensors") == ["INTEGER", "FLOAT", "BIGINT", "DOUBLE", "VARCHAR"]
    assert read_types("orders")[3:5] == ["FLOAT", "INTEGER"]
    schema = cdap.structured_tables.get_schema("meters")
    assert list(schema.fields.values()) == [
        FieldType.INTEGER,
        FieldType.FLOAT,
        FieldType.LONG,
        FieldType.DOUBLE,
    ]
    rows = cdap.transactions.run(lambda tx: [dict(row) for row in tx.table("meters").scan()])
    assert rows == [
        {"id": -(2**31), "value": 16777216.0, "total": -1, "exact": 2.5},
        {"id": 1, "value": TENTH_OF_32_BITS, "total": 2**40, "exact": 0.1},
    ]


def test_datasets(ask: Ask, cdap: Cdap):
    types = {each["name"]: each["type"] for each in ask("datasets", "list")}
    assert {name: type for name, type in types.items() if type != "externalDataset"} == {
        "colours": "keyValueTable",
        "orders": "table",
        "rates": "DailyRates",
        "readings": "table",
        "sales": "partitionedFileSet",
        "sensor_index": "indexedTable",
        "sensors": "table",
        "stamps": "table",
        "stamps_by_time": "timePartitionedFileSet",
        "times": "table",
        "totals": "table",
    }

    def read(tx: Any) -> tuple[Any, ...]:
        sensors = tx.dataset("sensors")
        indexed = tx.dataset("sensor_index").read_by_index("place", "roof")
        return (
            sensors.get(7),
            sensors.get(2**31 - 1),
            list(indexed),
            tx.dataset("colours").read(b"sea"),
        )

    sensor, largest, indexed, colour = cdap.transactions.run(read)
    assert sensor == {
        "id": 7,
        "weight": TENTH_OF_32_BITS,
        "since": 2**40,
        "exact": 0.1,
        "place": "roof",
    }
    assert largest["place"] == "cellar"
    assert [(row["id"], row["weight"]) for row in indexed] == [(7, 16777216.0), (8, None)]
    assert colour == b"\x00\xff"
    assert [each["key"] for each in ask("datasets", "partitions", "sales")] == [
        {"month": 1},
        {"month": 2},
    ]
    assert ask("sql", "SELECT max(sold) FROM sales WHERE month = 2")["rows"] == [[20]]
    assert ask("sql", "SELECT count(*), max(share) FROM stamps_by_time")["rows"] == [[4, 1.0]]


def test_a_dataset_of_an_own_type(ask: Ask, cdap: Cdap):
    (module,) = ask("datasets", "modules")
    assert (module["name"], module["version"]) == ("daily-rates-plugins", "1.0.0")
    assert read_rows(ask, "rates") == [["2026-01-31", 1.5, None], ["2026-02-01", -0.25, None]]

    body = {"value": 7.5, "taken": 0, "raw": ""}
    assert call(cdap, "PUT", "/contexts/default/rates/2026-03-01", body) is None
    assert call(cdap, "GET", "/contexts/default/rates/2026-03-01") == 7.5


def call(cdap: Cdap, method: str, path: str, body: Any = None, app: str = "notebook") -> Any:
    """Return the body of an application's answer, which must be a good one."""
    answer = cdap.apps.call(app, AppRequest(method, path, {}, body))
    assert answer.status < 300, answer
    return answer.body


def test_an_own_application(cdap: Cdap, runs: dict[str, Any]):
    assert call(cdap, "GET", "/contexts/default/notes/1") == {"text": "buy milk"}
    assert call(cdap, "GET", "/contexts/team/notes/1") == {"text": "buy tea"}
    rows = call(cdap, "GET", "/contexts/default/measurements")
    assert [(row["sensor"], row["value"], row["exact"], row["raw"]) for row in rows] == [
        (-5, 2.5, 2.5, "é"),
        (1, TENTH_OF_32_BITS, 0.1, "é"),
    ]
    ended = call(cdap, "GET", "/ended")
    assert {each["run"]: each["status"] for each in runs.values()}.items() <= ended.items()


def test_recipes_and_workspaces_of_data_prep(cdap: Cdap):
    recipes = call(cdap, "GET", "/v2/contexts/default/recipes", app="dataprep")["recipes"]
    assert [(each["recipeName"], each["directives"]) for each in recipes] == [
        ("clean readings", ["filter-row exp:{body_3 < 0} true", "rename :body_2 :place"])
    ]
    (space,) = call(cdap, "GET", "/v2/contexts/default/workspaces", app="dataprep")["values"]
    body = {"directives": space["directives"], "limit": 100}
    path = f"/v2/contexts/default/workspaces/{space['workspaceId']}/execute"
    result = call(cdap, "POST", path, body, "dataprep")
    assert result["values"][0] == {
        "body_1": "1",
        "body_2": "north",
        "body_3": "3.5",
        "body_4": "true",
    }


def test_metadata(ask: Ask):
    orders = ask("metadata", "get", "apps/orders")
    assert orders["USER"] == {"properties": {"owner": "Anna"}, "tags": ["sales"]}
    assert orders["SYSTEM"]["properties"]["plugin:Seal:transform"] == "Seal:transform"
    field = ask("metadata", "get", "datasets/orders/field/customer")["USER"]
    assert field == {"properties": {"holds": "names of customers"}, "tags": ["personal"]}
    assert ask("metadata", "get", "datasets/items", "-n", "team")["USER"]["tags"] == ["team-data"]
    assert ask("metadata", "get", "jar/tools/part/main")["USER"]["tags"] == ["custom"]
    assert len(ask("metadata", "search", "tags:pii")["results"]) == 1


def test_lineage(ask: Ask, runs: dict[str, Any]):
    relations = ask("lineage", "totals", "--levels", "1")["relations"]
    accesses = {
        (each["program"].split(".")[2], tuple(each["accesses"])): each["runs"] for each in relations
    }
    assert runs["orders"]["run"] in accesses["orders", ("write",)]
    assert accesses["report", ("read",)] == [runs["report"]["run"]]

    nodes = ask("lineage", "totals", "--field", "spent", "--direction", "outgoing")["outgoing"][
        "nodes"
    ]
    reached = {(each["field"]["dataset"]["dataset"], each["field"]["field"]) for each in nodes}
    assert reached == {("totals", "spent"), ("report", "spent")}


def test_statements_widen_columns_of_32_bits(ask: Ask, cdap: Cdap, home: Path):
    def run(*sql: str) -> None:
        execute_statements(str(home), StatementBatch("default", list(sql), ["shop.limits"]))

    before = ask("sql", 'SELECT * FROM "shop.limits"')["rows"]
    name = ask("sql", 'DESCRIBE "shop.limits"')["rows"][0][0]
    with pytest.raises(QueryError):
        run(f'UPDATE "shop.limits" SET "{name}" = 3000000000', "SELECT error('stop')")
    assert list_types(cdap, "shop.limits") == ["int", "int", "double", "string"]

    run(f'UPDATE "shop.limits" SET "{name}" = 3000000000')

    assert list_types(cdap, "shop.limits") == ["long", "long", "double", "string"]
    assert ask("sql", 'SELECT * FROM "shop.limits"')["rows"] == [[3000000000, *before[0][1:]]]
