"""The names that OpenLineage has for the datasets of sources and sinks."""

from __future__ import annotations

import pytest

from localcdap.api.locations import Locations
from localcdap.engine.messages.dataset_names import DatasetName, list_dataset_names, name_path

LOCATIONS = Locations({"gs://sales": "data/sales", "/mnt/share": "/srv/share"}, "/home/shop")


def names(plugin: str, **properties: str) -> list[tuple[str, str]]:
    found = list_dataset_names(plugin, properties, LOCATIONS.resolve)
    return [(each.namespace, each.name) for each in found]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("in/a.csv", [("file", "/home/shop/in/a.csv")]),
        ("file:///data/in/", [("file", "/data/in")]),
        ("/mnt/share/x", [("file", "/srv/share/x")]),
        ("/data/*.csv", [("file", "/data/*.csv")]),
        ("gs://sales/2026/a", [("gs://sales", "2026/a"), ("file", "/home/shop/data/sales/2026/a")]),
        ("gs://sales", [("gs://sales", "/"), ("file", "/home/shop/data/sales")]),
        ("gs://other/a", [("gs://other", "a")]),
        ("s3a://bucket/a/b/", [("s3://bucket", "a/b")]),
        ("hdfs://name:8020/a", [("hdfs://name:8020", "/a")]),
        ("abfss://c@x.dfs.core.windows.net/a", [("abfss://c@x.dfs.core.windows.net", "/a")]),
        ("https://ann:pass@host/a.csv?token=secret", [("https://host", "/a.csv")]),
        ("/data/${day}", []),
        ("", []),
    ],
)
def test_paths(path: str, expected: list[tuple[str, str]]) -> None:
    assert names("File", path=path) == expected


@pytest.mark.parametrize(
    ("url", "table", "expected"),
    [
        ("jdbc:mysql://db:3307/shop?user=ann", "orders", ("mysql://db:3307", "shop.orders")),
        ("jdbc:mysql://db/shop", "other.orders", ("mysql://db:3306", "other.orders")),
        (
            "jdbc:postgresql://ann:pw@db/shop",
            "orders",
            ("postgres://db:5432", "shop.public.orders"),
        ),
        ("jdbc:postgresql://db:1/shop", "s.orders", ("postgres://db:1", "shop.s.orders")),
        (
            "jdbc:sqlserver://db;databaseName=shop;password=pw",
            "orders",
            ("mssql://db:1433", "shop.dbo.orders"),
        ),
        ("jdbc:oracle:thin:@//db:1521/XE", "s.orders", ("oracle://db:1521", "XE.s.orders")),
        ("jdbc:oracle:thin:@db:1521:XE", "s.orders", ("oracle://db:1521", "XE.s.orders")),
        ("jdbc:derby:memory:x;create=true", "orders", None),
        ("jdbc:postgresql://db/${name}", "orders", None),
    ],
)
def test_databases_by_their_url(url: str, table: str, expected: tuple[str, str] | None) -> None:
    found = names("Database", connectionString=url, tableName=table, user="ann", password="pw")
    assert found == ([] if expected is None else [expected])


def test_databases_by_host() -> None:
    server = {"host": "db", "database": "shop", "tableName": "orders"}
    assert names("Postgres", **server) == [("postgres://db:5432", "shop.public.orders")]
    assert names("Mysql", **server, port="3307") == [("mysql://db:3307", "shop.orders")]
    assert names("Postgres", **server, dbSchemaName="s") == [
        ("postgres://db:5432", "shop.s.orders")
    ]
    cloud = {"connectionName": "p:r:i", "database": "shop", "tableName": "orders"}
    assert names("CloudSQLMySQL", **cloud) == [("mysql://p:r:i", "shop.orders")]


@pytest.mark.parametrize(
    ("query", "table"),
    [
        ("SELECT * FROM orders", "orders"),
        ("select id, name from s.orders where id > 1 and $CONDITIONS", "s.orders"),
        ('SELECT a FROM "orders" ORDER BY a;', "orders"),
        ("SELECT * FROM orders o JOIN items i ON o.id = i.id", None),
        ("SELECT * FROM orders, items", None),
        ("SELECT * FROM orders WHERE id IN (SELECT id FROM items)", None),
        ("SELECT a FROM orders UNION SELECT a FROM items", None),
        ("SELECT a FROM orders WHERE a = 1 UNION SELECT a FROM items", None),
        ("SELECT (SELECT max(x) FROM items) FROM orders", None),
        ("WITH o AS (SELECT 1) SELECT * FROM o", None),
    ],
)
def test_a_query_names_the_only_table_that_it_reads(query: str, table: str | None) -> None:
    url = "jdbc:mysql://db/shop"
    found = names("Database", connectionString=url, importQuery=query)
    whole = table if table is None or "." in table else f"shop.{table}"
    assert found == ([] if whole is None else [("mysql://db:3306", whole)])


def test_tables_of_bigquery() -> None:
    table = {"dataset": "d", "table": "t"}
    assert names("BigQueryTable", **table, project="p") == [("bigquery", "p.d.t")]
    both = {"project": "p", "datasetProject": "q"}
    assert names("BigQueryTable", **table, **both) == [("bigquery", "q.d.t")]
    assert names("BigQueryTable", **table, project="auto-detect") == []
    assert names("BigQueryTable", dataset="d", table="${t}", project="p") == []


def test_other_properties_name_nothing() -> None:
    assert names("HTTP", url="http://host/x") == []
    assert name_path("relative") is None
    assert name_path("FILE:///a/b") == DatasetName("file", "/a/b")
