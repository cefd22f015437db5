"""BigQueryExecute and BigQueryArgumentSetter: SQL of BigQuery on the tables here, and what it leaves."""

from __future__ import annotations

import datetime
import decimal
import json
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from localcdap.api import Schema
from localcdap.api.errors import NotFoundError, QueryError
from localcdap.api.tables import Partitioning
from localcdap.artifacts.loading import load_plugin
from localcdap.datasets.model import DatasetRequest
from localcdap.datasets.sql import SqlRequest
from localcdap.engine.host_client import execute_statements
from localcdap.engine.messages.host import StatementBatch
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing import artifact_ref
from localcdap.testing.instance import TemporaryInstance
from tests.plugins.cloud.databases import open_tables

PLUGINS = Path(__file__).resolve().parents[3] / "plugins_dir" / "google-cloud"


def module(name: str) -> Any:
    """A module of the artifact, as it is loaded."""
    plugin = load_plugin(artifact_ref(PLUGINS, "action", "BigQueryExecute"))
    return sys.modules[plugin.__module__.rpartition(".")[0] + f".{name}"]


@pytest.mark.parametrize(
    ("text", "changes", "sql"),
    [
        (
            "SELECT i.id FROM `some-project.shop.items` i WHERE SAFE_CAST(i.id AS STRING) = '1'",
            None,
            "SELECT i.id FROM \"shop.items\" AS i WHERE GOOGLESQL_SAFE_STRING(i.id) = '1'",
        ),
        (
            "DELETE shop.items WHERE true",
            "shop.items",
            'DELETE FROM "shop.items" AS "items" WHERE TRUE',
        ),
        (
            "CREATE OR REPLACE TABLE d.t PARTITION BY x CLUSTER BY y OPTIONS(a='b') AS SELECT 1 AS x",
            "d.t",
            'CREATE OR REPLACE TABLE "d.t" AS SELECT CAST(1 AS BIGINT) AS x',
        ),
        (
            "CREATE OR REPLACE VIEW `p.d.v` OPTIONS(description='x') AS SELECT a FROM d.t",
            "d.v",
            'CREATE OR REPLACE VIEW "d.v" AS SELECT a FROM "d.t" AS "t"',
        ),
        (
            "CREATE VIEW IF NOT EXISTS d.v(a OPTIONS(description='x'), b) AS SELECT 1, COUNT(*) FROM d.t",
            "d.v",
            'CREATE VIEW IF NOT EXISTS "d.v" ("a", "b") AS SELECT 1, COUNT(*) FROM "d.t" AS "t"',
        ),
        ("DROP VIEW IF EXISTS d.v", "d.v", 'DROP VIEW IF EXISTS "d.v"'),
        (
            "MERGE d.t USING d.u AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT ROW",
            "d.t",
            (
                'MERGE INTO "d.t" AS "t" USING (SELECT * FROM (SELECT * FROM "d.u" AS s) AS googlesql_given '
                'WHERE GOOGLESQL_CHECK_ASSIGNMENT(TYPEOF((SELECT googlesql_held FROM (SELECT * FROM "d.t") '
                "AS googlesql_held LIMIT 0)), TYPEOF(googlesql_given), TRUE)) AS s ON "
                "(STRUCT_EXTRACT({'v': TRUE}, GOOGLESQL_CHECK_COMPARED(TYPEOF(t.id), TYPEOF(s.id), '=')) "
                "AND t.id = s.id) "
                "WHEN NOT MATCHED THEN INSERT *"
            ),
        ),
        (
            "WITH a AS (SELECT CAST(1 AS NUMERIC) AS n) SELECT * EXCEPT (n) FROM a",
            None,
            "WITH a AS (SELECT CAST(1 AS DECIMAL(38, 9)) AS n) SELECT * EXCLUDE (n) FROM a",
        ),
    ],
)
def test_statements_of_bigquery_become_those_of_duckdb(text, changes, sql):
    (found,) = module("statements").translate_statements(text)
    assert (found.changes, found.sql) == (changes, sql)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "There is no SQL."),
        ("SELECT 1;\nSELEC 2", "line 2, column 7"),
        ("BEGIN TRANSACTION", "'BEGIN TRANSACTION' is not supported here."),
        ("DECLARE x INT64", "'DECLARE x' is not supported here."),
        ("CREATE MATERIALIZED VIEW d.v AS SELECT 1", "'CREATE MATERIALIZED VIEW' is not supported"),
        ("CREATE TEMP VIEW v AS SELECT 1 AS a", "'CREATE TEMP VIEW' is not supported here."),
        ("ALTER VIEW d.v SET OPTIONS (description = 'x')", "'ALTER VIEW' is not supported here."),
        ("CREATE VIEW v AS SELECT 1 AS a", "'v' must be qualified with a dataset (line 1"),
        ("DROP VIEW v", "'v' must be qualified with a dataset (line 1"),
        (
            "CREATE VIEW d.v AS SELECT a, COUNT(*) FROM d.t GROUP BY a",
            "CREATE VIEW columns must be named, but column 2 has no name (line 1, column 30).",
        ),
        ("CREATE TABLE d.t AS SELECT x.a, x.A FROM d.x", "has columns with duplicate name A"),
        ("CREATE VIEW d.v(a, a) AS SELECT 1, 2", "CREATE VIEW has columns with duplicate name a"),
        ("CREATE TEMP TABLE d.t AS SELECT 1 AS a", "'t' must not be qualified with a dataset"),
        (
            "CREATE TEMP TABLE t AS SELECT 1 AS a; CREATE VIEW d.v AS SELECT * FROM t",
            "A view cannot read the temporary table 't' (line 1",
        ),
        ("CREATE TEMP TABLE t (a INT64); DROP TABLE t; SELECT * FROM t", "'t' must be qualified"),
        ("CREATE OR REPLACE FUNCTION d.f() AS (1)", "'CREATE FUNCTION' is not supported here."),
        ("EXPORT DATA OPTIONS(uri='gs://x') AS SELECT 1", "'EXPORT DATA' is not supported"),
        ("SELECT *\nFROM items", "'items' must be qualified with a dataset (line 2, column 6)."),
        (
            "SELECT * FROM d.events_*",
            "Tables with wildcards, such as 'events_*', are not supported",
        ),
        (
            "SELECT * FROM d.t FOR SYSTEM_TIME AS OF x",
            "Earlier versions of tables are not stored here (line 1",
        ),
        ("SELECT * FROM d.INFORMATION_SCHEMA.TABLES", "There is no INFORMATION_SCHEMA"),
        ("SELECT\n9223372036854775808", "Invalid integer literal: 9223372036854775808"),
        ("SELECT -9223372036854775809", "Invalid integer literal: 9223372036854775809"),
        ("SELECT @a", "Parameter '@a' has no value"),
        ("SELECT * FROM read_csv('/etc/passwd')", "is not a table"),
        ("SELECT * FROM ML.PREDICT(MODEL d.m, (SELECT 1))", "is not a table"),
        ("SELECT ML.F(1)", "There is no function 'ML.F' here (line 1, column 8)."),
        ("SELECT x FROM d.t WHERE _PARTITIONDATE > '2026-01-01'", "ingestion times are not stored"),
        (
            "SELECT FORMAT('%q', x) FROM d.t",
            'Invalid format specifier character "q" in FORMAT string: "%q" (line 1, column',
        ),
        ("SELECT FORMAT('%d %d', x) FROM d.t", 'Too few arguments to FORMAT for pattern "%d %d"'),
        ("SELECT FORMAT('%d', x, y) FROM d.t", 'Too many arguments to FORMAT for pattern "%d"'),
        ("SELECT REGEXP_EXTRACT(x, '(a)(b)') FROM d.t", "not have more than 1 capturing group"),
        (
            "SELECT TIMESTAMP_ADD(x, INTERVAL 1 MONTH) FROM d.t",
            "'TIMESTAMP_ADD' with MONTH is not translated (line 1, column",
        ),
        ("SELECT FORMAT_DATE('%J', x) FROM d.t", "is not translated (line 1, column"),
        ("SELECT LAST_DAY(x, ISOYEAR) FROM d.t", "is not translated (line 1, column"),
    ],
)
def test_what_cannot_be_translated_is_refused_with_its_place(text: str, reported: str):
    statements = module("statements")
    with pytest.raises(module("sql").SqlError, match=".") as raised:
        statements.translate_statements(text)
    assert reported in raised.value.message


def test_temporary_tables_have_no_dataset_and_are_in_no_list_of_changes():
    found = module("statements").translate_statements(
        "CREATE OR REPLACE TEMP TABLE T AS SELECT 1 AS a; DELETE _SESSION.t WHERE true;"
        "CREATE TABLE d.t AS SELECT t.a FROM t; MERGE t USING d.t u ON t.a = u.a WHEN MATCHED THEN DELETE"
    )
    assert [(each.changes, each.sql) for each in found] == [
        (None, 'CREATE OR REPLACE TEMPORARY TABLE "T" AS SELECT CAST(1 AS BIGINT) AS a'),
        (None, 'DELETE FROM "temp"."main"."t" AS "t" WHERE TRUE'),
        ("d.t", 'CREATE TABLE "d.t" AS SELECT t.a FROM "temp"."main"."t" AS "t"'),
        (
            None,
            (
                'MERGE INTO "temp"."main"."t" AS "t" USING "d.t" AS u ON '
                "(STRUCT_EXTRACT({'v': TRUE}, GOOGLESQL_CHECK_COMPARED(TYPEOF(t.a), TYPEOF(u.a), '=')) "
                "AND t.a = u.a) WHEN MATCHED THEN DELETE"
            ),
        ),
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT 1, id, COUNT(*), id + 1 AS x FROM d.t GROUP BY id", ["f0_", "id", "f1_", "x"]),
        ("SELECT SUM(id) FROM d.t UNION ALL SELECT 5", ["f0_"]),
        ("WITH a AS (SELECT MAX(id) AS m FROM d.t) SELECT *, m * 2 FROM a", ["m", "f0_"]),
        ("SELECT t.name, (t.id) FROM d.t", ["name", "f0_"]),
    ],
)
def test_columns_without_a_name_get_that_of_bigquery(text: str, names: list[str]):
    (found,) = module("statements").translate_statements(text)
    with held() as engine:
        assert engine.sql(found.sql).columns == names


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("DATE_TRUNC(d, MONTH)", datetime.date(2026, 2, 1)),
        ("DATE_TRUNC(dt, MONTH)", datetime.datetime(2026, 2, 1)),
        ("MAX(DATE_ADD(d, INTERVAL 1 DAY))", datetime.date(2026, 2, 15)),
        ("DATE_SUB('2026-03-31', INTERVAL 1 MONTH)", datetime.date(2026, 2, 28)),
        ("EXTRACT(DATE FROM ts)", datetime.date(2026, 2, 14)),
        ("EXTRACT(DAYOFWEEK FROM d)", 7),
        ("EXTRACT(WEEK FROM d)", 6),
        ("EXTRACT(ISOWEEK FROM d)", 7),
        ("TIMESTAMP_DIFF(ts, TIMESTAMP '2026-02-13 10:30:00', DAY)", 0),
        ("DATETIME_DIFF(dt, DATETIME '2026-02-13 10:30:00', DAY)", 1),
        ("CAST(f AS INT64)", 3),
        ("CAST(-f AS INT64)", -3),
        ("CAST('12' AS INT64)", 12),
        ("SAFE_CAST(s AS INT64)", None),
        ("FORMAT('%05d %s', 7, s)", "00007 a"),
        ("FORMAT_DATE('%Q', d)", "1"),
        ("FORMAT_DATE('Q%Q of %Y', d)", "Q1 of 2026"),
        ("FORMAT_DATE('%e|%C|%g|%F|%j', DATE '2027-01-02')", " 2|20|26|2027-01-02|002"),
        ("FORMAT_DATETIME('%k:%M%n%P', dt)", "10:00\nam"),
        ("FORMAT_DATETIME('%c', dt)", "Sat Feb 14 10:00:00 2026"),
        ("FORMAT_TIMESTAMP('%s %Ez', ts)", "1771063200 +00:00"),
        ("FORMAT_TIMESTAMP('%H:%M', ts, 'Asia/Tokyo')", "19:00"),
        ("FORMAT_TIMESTAMP('%E*S %E3S', TIMESTAMP '2026-01-01 00:00:07.25')", "07.25 07.250"),
        ("FORMAT_TIME('%R', TIME '07:05:00')", "07:05"),
        ("FORMAT('%t', STRUCT(1, s, d, CAST(NULL AS INT64)))", "(1, a, 2026-02-14, NULL)"),
        ("FORMAT('%t|%T', STRUCT(s AS x), STRUCT(s AS x))", '(a)|STRUCT("a")'),
        (
            "FORMAT('%T', (1, s, d, dt))",
            '(1, "a", DATE "2026-02-14", DATETIME "2026-02-14 10:00:00")',
        ),
        ("FORMAT('%t %d', [1, 2], 7)", "[1, 2] 7"),
        ("FORMAT('%t %T', CAST(1.50 AS NUMERIC), CAST(2 AS NUMERIC))", '1.5 NUMERIC "2"'),
        ("FORMAT('%t', CAST(NULL AS STRING))", "NULL"),
        ("2000000000 + 2000000000", 4_000_000_000),
        ("(2000000000 - -2000000000) * (1 + 1)", 8_000_000_000),
        ("CASE WHEN s = 'a' THEN 2000000000 ELSE 0 END * 2", 4_000_000_000),
        ("IF(s = 'a', 2000000000, 0) + IF(s = 'a', 2000000000, 0)", 4_000_000_000),
        ("COALESCE(NULL, 2000000000) + COALESCE(NULL, 2000000000)", 4_000_000_000),
        ("[2000000000][OFFSET(0)] * 2", 4_000_000_000),
        ("SUBSTR('abc', 1 + 1, 1)", "b"),
        ("LPAD(s, LENGTH('abc'), 'x')", "xxa"),
        ("DATE_ADD(d, INTERVAL 1 + 1 DAY)", datetime.date(2026, 2, 16)),
        ("ROUND(CAST(2.345 AS NUMERIC) * 2, 1 + 1)", decimal.Decimal("4.690000000")),
        ("1 - 3000000000 - (2000000000 * 2)", -6999999999),
        ("SUM(2000000000 * 2)", 4000000000),
        ("IF(f > 2, 2000000000, 0) * 2", 4000000000),
        ("[2000000000][OFFSET(0)] + f", 2000000002.5),
        ("STRUCT(2000000000 AS a).a * 3", 6000000000),
        ("COALESCE(NULL, 2000000000) * 3", 6000000000),
        ("1 << 40", 2**40),
        ("-9223372036854775808", -(2**63)),
        ("0.1 + 0.2", 0.1 + 0.2),
        ("d + 1", datetime.date(2026, 2, 15)),
        ("CAST('3000000000' AS INT)", 3000000000),
        ("SAFE.PARSE_DATE('%Y', s)", None),
        ("TIMESTAMP_MILLIS(0) = TIMESTAMP '1970-01-01'", True),
        ("PARSE_TIMESTAMP('%Y-%m', '2026-02') = TIMESTAMP '2026-02-01'", True),
    ],
)
def test_expressions_mean_what_they_mean_in_bigquery(expression, value):
    (found,) = module("statements").translate_statements(f"SELECT {expression} AS v FROM d.t")
    table = (
        "CREATE TABLE \"d.t\" AS SELECT DATE '2026-02-14' AS d, TIMESTAMP '2026-02-14 10:00' AS dt, "
        "TIMESTAMPTZ '2026-02-14 10:00+00' AS ts, 2.5::DOUBLE AS f, 'a' AS s"
    )
    with open_tables(table) as engine:
        ((given,),) = engine.execute(found.sql).fetchall()
    assert (given, type(given)) == (value, type(value))


MERGED = (
    "MERGE d.t T USING d.u S ON T.id = S.id WHEN MATCHED THEN UPDATE SET T.name = S.name "
    "WHEN NOT MATCHED THEN INSERT ROW; SELECT * FROM d.t"
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT id / 4, SAFE_DIVIDE(id, 0), 6 / id FROM d.t WHERE id = 2", [(0.5, None, 3.0)]),
        ("SELECT CASE WHEN id = 1 THEN 0 ELSE 1 / (id - 1) END FROM d.t", [(0.0,), (1.0,)]),
        ("SELECT x, o FROM UNNEST(['a', 'b']) AS x WITH OFFSET AS o WHERE o > 0", [("b", 1)]),
        ("SELECT x FROM UNNEST([7, 8]) AS x WITH OFFSET ORDER BY offset DESC", [(8,), (7,)]),
        (
            "UPDATE d.t t SET t.name = u.name FROM d.u u WHERE t.id = u.id; SELECT * FROM d.t",
            [(1, "a"), (2, "x")],
        ),
        (
            MERGED,
            [(1, "a"), (2, "x"), (3, "y")],
        ),
        ("CREATE TABLE d.n LIKE d.t; SELECT COUNT(*) FROM d.n", [(0,)]),
        ("CREATE TABLE d.n COPY d.t; SELECT COUNT(*) FROM d.n", [(2,)]),
        ("CREATE TABLE d.n CLONE d.t; SELECT id FROM d.n", [(1,), (2,)]),
    ],
)
def test_statements_do_what_they_do_in_bigquery(text, rows):
    with held() as engine:
        for statement in module("statements").translate_statements(text):
            found = engine.execute(statement.sql).fetchall()
    assert found == rows


@pytest.mark.parametrize(
    "expression", ["9223372036854775807 + 1", "4611686018427387904 * 2", "-9223372036854775807 - 2"]
)
def test_what_does_not_fit_into_an_int64_fails(expression):
    (found,) = module("statements").translate_statements(f"SELECT {expression} AS v")
    with open_tables() as engine, pytest.raises(duckdb.Error, match="[Oo]verflow|out of range"):
        engine.execute(found.sql).fetchall()


def test_a_division_by_zero_fails():
    (found,) = module("statements").translate_statements("SELECT 1 / (id - 1) FROM d.t")
    with held() as engine, pytest.raises(duckdb.Error, match="division by zero"):
        engine.execute(found.sql).fetchall()


def held() -> AbstractContextManager[duckdb.DuckDBPyConnection]:
    """A database with two small tables."""
    return open_tables(
        "CREATE TABLE \"d.t\" AS FROM (VALUES (1, 'a'), (2, 'b')) v(id, name)",
        "CREATE TABLE \"d.u\" AS FROM (VALUES (2, 'x'), (3, 'y')) v(id, name)",
    )


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory):
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        yield made


def do(instance: TemporaryInstance, *sql: str, changes: tuple[str, ...]) -> None:
    execute_statements(str(instance.home.path), StatementBatch("default", list(sql), list(changes)))


def translate(text: str) -> list[str]:
    return [each.sql for each in module("statements").translate_statements(text)]


@pytest.mark.parametrize(
    ("expression", "column"),
    [
        ("1", "long"),
        ("-1", "long"),
        ("[1, 2]", "array of long"),
        ("STRUCT(1 AS tinyint, 1.5 AS b)", "record"),
        ("(SELECT SUM(x) FROM UNNEST([1, 2]) AS x)", "long"),
        ("COUNT(*)", "long"),
        ("LENGTH('a')", "long"),
        ("ASCII('a')", "long"),
        ("SIGN(-2)", "long"),
        ("BIT_COUNT(7)", "long"),
        ("MOD(7, 4)", "long"),
        ("EXTRACT(YEAR FROM DATE '2026-01-01')", "long"),
        ("DATE_DIFF(DATE '2026-01-02', DATE '2026-01-01', DAY)", "long"),
        ("CASE WHEN TRUE THEN 1 ELSE 2 END", "long"),
        ("1.5", "double"),
        ("CAST(1.5 AS FLOAT64)", "double"),
        ("CAST(1 AS NUMERIC)", "decimal"),
    ],
)
def test_columns_of_created_tables_have_the_types_of_bigquery(
    instance: TemporaryInstance, expression: str, column: str
):
    do(
        instance,
        *translate(f"CREATE OR REPLACE TABLE d.typed AS SELECT {expression} AS v"),
        changes=("d.typed",),
    )

    schema = instance.cdap.tables.read_shapes("default")["d.typed"].schema.field("v").schema
    text = str(schema)
    assert '"int"' not in text
    assert '"float"' not in text
    assert schema.non_nullable.display_name == column or column == "array of long"


def test_a_created_table_takes_values_of_64_bits(instance: TemporaryInstance):
    sql = translate(
        "CREATE OR REPLACE TABLE ds.z1 AS SELECT 1 AS id; INSERT INTO ds.z1 VALUES (3000000000);"
        "CREATE TABLE ds.z2 (a INT, b INTEGER, c SMALLINT, e FLOAT64);"
        "INSERT INTO ds.z2 VALUES (3000000000, 3000000000, 3000000000, 0.1)"
    )

    do(instance, *sql, changes=("ds.z1", "ds.z2"))

    assert rows(instance, "ds.z1") == [[1], [3000000000]]
    assert rows(instance, "ds.z2") == [[3000000000, 3000000000, 3000000000, 0.1]]


def test_a_sum_over_64_bits_fails_and_leaves_no_table(instance: TemporaryInstance):
    sql = translate(
        "CREATE TABLE ds.z3 AS SELECT SUM(x) AS s FROM UNNEST([9223372036854775807, 1]) AS x"
    )

    with pytest.raises(QueryError):
        do(instance, *sql, changes=("ds.z3",))

    with pytest.raises(NotFoundError):
        rows(instance, "ds.z3")


def rows(instance: TemporaryInstance, name: str) -> list[list[Any]]:
    return sorted(instance.cdap.tables.read_rows("default", name, 100).rows)


def pipeline(*actions: tuple[str, str, dict[str, str]]) -> str:
    """Actions one after the other, and behind them a copy of what the last one says."""
    source = {"dataset": "shop", "table": "items", "filter": "id > ${least}"}
    sink = {"dataset": "shop", "table": "copies", "truncateTable": "true"}
    plugins = [
        *((name, "action", plugin, properties) for name, plugin, properties in actions),
        ("In", "batchsource", "BigQueryTable", source),
        ("Out", "batchsink", "BigQueryTable", sink),
    ]
    stages = [
        {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}
        for name, type, plugin, properties in plugins
    ]
    names = [name for name, *_ in plugins]
    connections = [{"from": a, "to": b} for a, b in zip(names, names[1:], strict=False)]
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    config = {"stages": stages, "connections": connections}
    return json.dumps({"name": "p", "artifact": artifact, "config": config})


def test_wrong_properties_are_reported_at_once(instance):
    wrong = {"sql": "SELEC 1", "dataset": "d"}
    legacy = {"sql": "SELECT * FROM [a.b]", "dialect": "legacy"}
    setter = {
        "dataset": "d",
        "table": "t",
        "argumentSelectionConditions": "a;",
        "argumentsColumns": "b",
    }
    document = pipeline(
        ("A", "BigQueryExecute", wrong),
        ("B", "BigQueryExecute", legacy),
        ("C", "BigQueryArgumentSetter", setter),
    )
    answer = instance.cdap.studio.validate_pipeline(PipelineRequest(document))
    found = [(failure.stage, failure.message) for failure in answer.errors]
    assert found == [
        ("A", "Dataset and table must be specified together."),
        ("A", found[1][1]),
        ("B", "SQL in BigQuery's legacy dialect cannot be executed here."),
        ("C", "'a' is not a condition."),
    ]
    assert found[1][1].startswith("This is not SQL of BigQuery:")


def run_sql(instance: TemporaryInstance, text: str) -> None:
    found = module("statements").translate_statements(text)
    changes = {each.changes for each in found if each.changes}
    do(instance, *(each.sql for each in found), changes=tuple(changes))


@pytest.mark.parametrize(
    "make",
    [
        "CREATE OR REPLACE TABLE d.wide AS SELECT 1 AS id, [1] AS many",
        """CREATE TEMP TABLE x AS SELECT 1 AS id, [1] AS many; INSERT INTO x VALUES (4000000000, [5]);
        CREATE OR REPLACE TABLE d.wide AS SELECT * FROM x WHERE id < 5""",
    ],
)
def test_whole_numbers_of_created_tables_have_64_bits(instance, make):
    run_sql(instance, f"{make}; INSERT INTO d.wide VALUES (3000000000, [4000000000])")
    run_sql(instance, "UPDATE d.wide SET id = id + 9000000000 WHERE id = 1")

    assert rows(instance, "d.wide") == [[3_000_000_000, [4_000_000_000]], [9_000_000_001, [1]]]
    schema = instance.cdap.tables.read_shapes("default")["d.wide"].schema
    assert schema.field("id").schema.non_nullable == Schema.LONG
    assert schema.field("many").schema.non_nullable.items.non_nullable == Schema.LONG


def test_columns_of_32_bits_are_widened_by_the_statements_that_change_them(instance):
    columns = [("id", Schema.INT), ("f", Schema.FLOAT.as_nullable), ("s", Schema.STRING)]
    schema = Schema.record("narrow", columns)
    properties = {"schema": str(schema)}
    instance.cdap.datasets.create(DatasetRequest("d.narrow", "table", properties))

    with pytest.raises(Exception, match="[Oo]verflow|out of range"):
        run_sql(instance, "INSERT INTO d.narrow VALUES (9223372036854775807 + 1, 0.1, 'x')")
    before = instance.cdap.tables.read_shapes("default")["d.narrow"].schema
    assert before.field("id").schema == Schema.INT

    run_sql(instance, "INSERT INTO d.narrow VALUES (3000000000, 0.1, 'x')")

    after = instance.cdap.tables.read_shapes("default")["d.narrow"].schema
    assert [(each.name, each.schema.non_nullable) for each in after] == [
        ("id", Schema.LONG),
        ("f", Schema.DOUBLE),
        ("s", Schema.STRING),
    ]
    assert rows(instance, "d.narrow") == [[3_000_000_000, 0.1, "x"]]


def test_views_have_the_functions_of_bigquery(instance):
    run_sql(
        instance,
        "CREATE TABLE d.texts AS SELECT ' a\\n' AS s, 5 AS i, CAST('1.5' AS NUMERIC) AS n;"
        "CREATE VIEW d.printed AS SELECT FORMAT('%t|%d', TRIM(s), i) AS f, n / 3 AS third, "
        "FARM_FINGERPRINT(s) AS p FROM d.texts",
    )

    assert rows(instance, "d.printed") == [["a|5", "0.500000000", -8652225139161147351]]
    found = instance.cdap.sql.query(SqlRequest("SELECT f FROM d.printed")).to_table()
    assert found.to_pylist() == [{"f": "a|5"}]


def test_tables_keep_what_they_are_parted_by_until_they_are_made_again(instance):
    def parted(text: str) -> Partitioning | None:
        found = module("statements").translate_statements(text)
        sql = [each.sql for each in found]
        changes = [each.changes for each in found if each.changes]
        makes = [each.makes for each in found if each.makes]
        execute_statements(str(instance.home.path), StatementBatch("default", sql, changes, makes))
        return instance.cdap.tables.read_shapes("default")["d.parts"].partitioning

    columns = "(day DATE, id INT64)"
    by_day, by_id = Partitioning(field="day"), Partitioning("integer", "id")
    ranges = "PARTITION BY RANGE_BUCKET(id, GENERATE_ARRAY(0, 9, 1))"
    assert parted(f"CREATE TABLE d.parts {columns} PARTITION BY day") == by_day
    assert parted("INSERT INTO d.parts VALUES ('2026-01-01', 1)") == by_day
    assert parted(f"CREATE TABLE IF NOT EXISTS d.parts {columns} {ranges}") == by_day
    assert parted(f"DROP TABLE d.parts; CREATE TABLE d.parts {columns} {ranges}") == by_id
    assert parted(f"CREATE OR REPLACE TABLE d.parts {columns}") is None
    assert parted("DROP TABLE d.parts; SELECT 1; CREATE TABLE d.parts (x INT64)") is None


@pytest.mark.slow
@pytest.mark.spark
def test_actions_change_tables_and_set_arguments(instance, cdap_engine_directory):
    do(
        instance,
        "CREATE TABLE \"shop.items\" AS FROM (VALUES (1::BIGINT, 'a'), (2, 'b'), (3, 'c')) v(id, name)",
        "CREATE TABLE \"shop.settings\" AS SELECT 'x' AS feed, 1 AS least",
        changes=("shop.items", "shop.settings"),
    )
    change = {"sql": "DELETE FROM shop.items WHERE id = 2; INSERT INTO shop.items VALUES (4, 'd')"}
    query = {
        "sql": "SELECT COUNT(*) AS n, MAX(name) AS top FROM `p.shop.items`",
        "dataset": "shop",
        "table": "totals",
        "rowAsArguments": "true",
    }
    setter = {
        "dataset": "shop",
        "table": "settings",
        "argumentSelectionConditions": "feed=x",
        "argumentsColumns": "least",
    }
    document = pipeline(
        ("Change", "BigQueryExecute", change),
        ("Query", "BigQueryExecute", query),
        ("Set", "BigQueryArgumentSetter", setter),
        (
            "Note",
            "BigQueryExecute",
            {"sql": "CREATE TABLE shop.note AS SELECT ${n} AS n, '${top}' AS top"},
        ),
    )

    run = instance.run(document)

    assert run.error is None
    assert rows(instance, "shop.copies") == [[3, "c"], [4, "d"]]
    assert rows(instance, "shop.totals") == [[3, "d"]]
    assert rows(instance, "shop.note") == [[3, "d"]]

    again = instance.run(document)
    assert again.error is not None
    assert "Table 'shop.totals' already exists and has rows" in again.error.message

    unknown = pipeline(("A", "BigQueryExecute", {"sql": "SELECT 1;\nSELECT\n  No_Such('x')"}))
    failed = instance.run(unknown)
    assert failed.error is not None
    assert failed.error.message == (
        "Stage 'A': there is no function 'No_Such' here (line 3, column 3)."
    )
