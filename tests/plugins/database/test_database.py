"""Databases through JDBC, with a real one: Derby, whose driver comes with Spark."""

from __future__ import annotations

import json
import shutil
import uuid
import zipfile
from pathlib import Path
from typing import Any

import pytest
from database_plugins.database_sink import DatabaseSink
from database_plugins.database_source import split_conditions
from database_plugins.jdbc import DriverNotFoundError, copy_for_spark, find_driver

from localcdap.api.errors import StageError
from localcdap.api.failures import FailureCollector
from localcdap.api.schema import Schema
from localcdap.engine.local.launch import find_spark_home
from localcdap.files.formats import FORMER_JSON
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance
from tests.plugins.database.support import configure, messages

SCHEMA = json.dumps(
    Schema.record(
        "r",
        [
            ("id", Schema.INT),
            ("name", Schema.STRING.as_nullable),
            ("price", Schema.decimal(8, 2).as_nullable),
            ("moment", Schema.TIMESTAMP.as_nullable),
            ("day", Schema.DATE.as_nullable),
        ],
    ).to_json()
)
DRIVER = "org.apache.derby.jdbc.EmbeddedDriver"
TABLE = (
    "CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(8,2), moment TIMESTAMP, "
    "day DATE)"
)
ROWS = "1,x,1.25,2024-05-06T07:08:09Z,2024-05-06\n2,y,,,\n3,z,0.5,,\n10,ten,,,\n"
# Spark writes a text that is null as a CLOB into Derby, which Derby does not take.


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, cdap_engine_directory):
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        folder = made.home.path / "jdbc"
        folder.mkdir()
        (jar,) = (find_spark_home() / "jars").glob("derbytools-*.jar")
        shutil.copy(jar, folder / "derby-tools.jar")
        driver = {"name": "derby", "type": "jdbc", "className": DRIVER}
        (folder / "derby-tools.json").write_text(json.dumps({"plugins": [driver]}))
        yield made


def pipeline(*plugins: dict[str, Any]) -> dict[str, Any]:
    """Stages one behind the other."""
    stages = [{"name": f"s{i}", "plugin": plugin} for i, plugin in enumerate(plugins)]
    links = [{"from": f"s{i}", "to": f"s{i + 1}"} for i in range(len(stages) - 1)]
    artifact = {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}
    return {
        "name": "p",
        "artifact": artifact,
        "config": {"stages": stages, "connections": links},
    }


class Database:
    """A database of a test's own."""

    def __init__(self, instance: TemporaryInstance) -> None:
        self.instance = instance
        # In the memory of the Spark server, which lives longer than the test.
        self._url = f"jdbc:derby:memory:{uuid.uuid4().hex};create=true"

    def plugin(self, type: str, name: str, **properties: str) -> dict[str, Any]:
        common = {"jdbcPluginName": "derby", "connectionString": self._url, "referenceName": "r"}
        return {"type": type, "name": name, "properties": common | properties}

    def run(self, *plugins: dict[str, Any], **arguments: str) -> Any:
        return self.instance.run(pipeline(*plugins), arguments)

    def csv(self, text: str) -> dict[str, Any]:
        (self.instance.home.path / "in.csv").write_text(text)
        properties = {"referenceName": "f", "path": "in.csv", "format": "csv", "schema": SCHEMA}
        return {"type": "batchsource", "name": "File", "properties": properties}

    def rows(self, statement: str, *sources: dict[str, str]) -> list[list[dict[str, Any]]]:
        """What sources with these properties give after a statement, by id; all in one run."""
        query = "SELECT * FROM orders WHERE $CONDITIONS;"
        common = {"importQuery": query, "schema": SCHEMA, "columnNameCase": "lower"}
        document = pipeline(self.plugin("action", "Database", query=statement))
        config, outs = document["config"], []
        for number, properties in enumerate(sources):
            source = self.plugin("batchsource", "Database", **(common | properties))
            out = {"referenceName": f"o{number}", "path": uuid.uuid4().hex, "format": "json"}
            out[FORMER_JSON] = "true"
            sink = {"type": "batchsink", "name": "File", "properties": out}
            ends = (f"in{number}", f"out{number}")
            config["stages"] += [
                {"name": name, "plugin": plugin}
                for name, plugin in zip(ends, (source, sink), strict=True)
            ]
            config["connections"] += [
                {"from": one, "to": other} for one, other in (("s0", ends[0]), ends)
            ]
            outs.append(self.instance.home.path / out["path"])
        assert self.instance.run(document).error is None
        return [_records(out) for out in outs]

    def execute(self, statement: str) -> Any:
        action = self.plugin("action", "Database", query=statement)
        return self.run(
            action, self.csv(""), {"type": "batchsink", "name": "Trash", "properties": {}}
        )


def _records(folder: Path) -> list[dict[str, Any]]:
    lines = (line for file in folder.iterdir() for line in file.read_text().splitlines())
    return sorted((json.loads(line) for line in lines), key=lambda row: row["id"])


@pytest.fixture
def database(instance: TemporaryInstance) -> Database:
    return Database(instance)


@pytest.mark.spark
def test_what_columns_change_is_counted(database: Database):
    table = (
        "CREATE TABLE orders (id INT, name CHAR(3), price DECIMAL(5,1), moment TIMESTAMP, day DATE)"
    )
    create = database.plugin("action", "Database", query=table)
    rows = "1,abc,1.50,2024-05-06T07:08:09.123456Z,1582-10-04\n2,a,1.25,1500-01-01T00:00:00Z,1582-10-10\n"

    run = database.run(
        create, database.csv(rows), database.plugin("batchsink", "Database", tableName="orders")
    )

    assert run.error is None
    (last,) = database.instance.cdap.runs.list_runs("default", limit=1)
    assert [(each.change.split("'")[1], each.count, each.first) for each in last.altered] == [
        ("name", 1, "a"),
        ("price", 1, "1.25"),
        ("day", 1, "1582-10-10"),
    ]
    narrower = {"schema": SCHEMA.replace('"precision": 8', '"precision": 9')}
    (stored,) = database.rows("DELETE FROM orders WHERE id = 1", narrower)
    assert stored[0]["moment"] == "1500-01-01T00:00:00.000000Z"


@pytest.mark.spark
def test_rows_are_written_and_read(database: Database):
    create = database.plugin("action", "Database", query=TABLE)
    sink = database.plugin("batchsink", "Database", tableName="orders")

    run = database.run(create, database.csv(ROWS), sink)

    assert run.error is None
    bounds = "SELECT MIN(id), MAX(id) FROM orders"
    split = {"numSplits": "3", "splitBy": "id", "boundingQuery": bounds}
    whole, parts = database.rows("DELETE FROM orders WHERE id < 0", {}, split)
    assert [row["id"] for row in whole] == [1, 2, 3, 10]
    assert whole[0] == {
        "id": 1,
        "name": "x",
        "price": 1.25,
        "moment": "2024-05-06T07:08:09.000000Z",
        "day": "2024-05-06",
    }
    assert (whole[1]["price"], whole[1]["moment"]) == (None, None)
    assert parts == whole

    # all rows of a run or none of them
    again = database.run(database.csv("11,new,,,\n3,twice,,,\n"), sink)
    assert "duplicate key" in str(again.error)
    connection = {"name": "Shop DB", "plugin": {"name": "Database", "properties": {}}}
    place = database.plugin("", "", user="app", password="hidden")["properties"]
    connection["plugin"]["properties"] = {k: v for k, v in place.items() if k != "referenceName"}
    database.instance.cdap.connections.load("default", connection)
    used = {"useConnection": "true", "connection": "${conn(Shop DB)}"}
    given = used | {"jdbcPluginName": "", "connectionString": ""}
    left, by_connection = database.rows("DELETE FROM orders WHERE id IN (3, 10)", {}, given)
    assert left == by_connection == whole[:2]


@pytest.mark.spark
def test_the_database_says_what_is_wrong(database: Database):
    assert "because it does not exist" in str(database.execute("DROP TABLE orders").error)
    sink = database.plugin("batchsink", "Database", tableName="orders")
    assert "does not exist" in str(database.run(database.csv(ROWS), sink).error)
    create = database.plugin("action", "Database", query="CREATE TABLE orders (id INT)")
    lacking = database.run(create, database.csv(ROWS), sink)
    assert "table 'orders' has no column 'name'; its columns are: ID." in str(lacking.error)
    sink["properties"]["columns"] = "id"
    assert database.run(database.csv(ROWS), sink).error is None


@pytest.mark.spark
def test_a_statement_ends_the_run(database: Database):
    create = database.plugin("action", "Database", query="CREATE TABLE ends (id INT)")
    trash = {"type": "batchsink", "name": "Trash", "properties": {}}
    document = pipeline(create, database.csv(ROWS), trash)
    insert = "INSERT INTO ends VALUES (7)"
    document["config"]["postActions"] = [
        {"name": when, "plugin": database.plugin("postaction", "DatabaseQuery", **asked)}
        for when in ("success", "failure")
        if (asked := {"query": insert, "runCondition": when})
    ]

    assert database.instance.run(document).error is None

    schema = json.dumps(Schema.record("r", [("id", Schema.INT)]).to_json())
    ends = {"importQuery": "SELECT * FROM ends", "schema": schema}
    assert database.rows("DELETE FROM ends WHERE id < 0", ends) == [[{"id": 7}]]


@pytest.mark.spark
def test_a_driver_that_is_not_there_is_missed_before_the_run(database: Database):
    sink = database.plugin("batchsink", "Database", tableName="t", jdbcPluginName="oracle")

    plugins = [database.csv(ROWS), sink]
    request = PipelineRequest(json.dumps(pipeline(*plugins)), connected=True)
    (failure,) = database.instance.cdap.studio.validate_pipeline(request).errors

    assert failure.message == "There is no JDBC driver 'oracle'; available: derby, derby-tools."
    assert "jdbc/oracle.jar" in str(failure.corrective_action)
    assert "There is no JDBC driver" in str(database.run(*plugins).error)


def test_drivers_are_found(tmp_path: Path):
    def resolve(path: str) -> str:
        if path == "jdbc://mapped":
            return str(tmp_path / "elsewhere.jar")
        if "://" in path:
            raise StageError("not here")
        return str(tmp_path / path)

    folder = tmp_path / "jdbc"
    (folder / "several").mkdir(parents=True)
    for jar in ("jdbc/pg.jar", "jdbc/several/a.jar", "jdbc/mysql-connector-5.jar", "elsewhere.jar"):
        with zipfile.ZipFile(tmp_path / jar, "w") as archive:
            archive.writestr("META-INF/services/java.sql.Driver", f"# its\n{jar} # class\n")
    (folder / "several" / "b.jar").write_text("no jar")
    declared = {"name": "mysql", "type": "jdbc", "className": "com.mysql.jdbc.Driver"}
    (folder / "mysql-connector-5.json").write_text(json.dumps({"plugins": [declared]}))

    assert find_driver("pg", resolve).class_name == "jdbc/pg.jar"
    assert len(find_driver("several", resolve).jars) == 2
    assert find_driver("mysql", resolve).class_name == "com.mysql.jdbc.Driver"
    assert find_driver("mapped", resolve).class_name == "elsewhere.jar"
    with pytest.raises(DriverNotFoundError, match="available: mysql, mysql-connector-5, pg"):
        find_driver("oracle", resolve)


def test_a_jar_that_is_replaced_is_another_for_spark(tmp_path: Path):
    (jar, other), shared = (tmp_path / "pg.jar", tmp_path / "copy.jar"), tmp_path / "drivers"
    jar.write_text("one")
    other.write_text("one")
    first = copy_for_spark(jar, shared)
    assert copy_for_spark(other, shared) == first

    jar.write_text("two")
    second = copy_for_spark(jar, shared)

    assert (first.read_text(), second.read_text()) == ("one", "two")
    assert sorted(shared.iterdir()) == sorted([first, second])


@pytest.mark.parametrize(("least", "greatest"), [(1, 10), (-7, 3), (5, 6), (0, 1000), (0.5, 9.25)])
@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_each_value_is_in_one_part(least: float, greatest: float, parts: int):
    import duckdb

    conditions = split_conditions("x", least, greatest, parts)

    assert 1 <= len(conditions) <= parts
    total = " + ".join(f"coalesce(({each})::INT, 0)" for each in conditions)
    values = "(SELECT unnest([-8, -7, 0, 0.5, 1, 3, 5, 6, 9.25, 10, 500, 1000, NULL]) AS x)"
    assert duckdb.sql(f"SELECT DISTINCT {total} FROM {values}").fetchall() == [(1,)]


SOURCE = {"jdbcPluginName": "x", "connectionString": "jdbc:x:", "importQuery": "SELECT 1"}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, []),
        ({"connectionString": "mysql://h"}, ["'mysql://h' is not a JDBC connection string."]),
        ({"connectionArguments": "a=1;b;"}, ["'b' is not a connection argument."]),
        (
            {"numSplits": "4"},
            [
                "Import Query must contain the string '$CONDITIONS' if Number of Splits is not 1.",
                "Split-By Field Name must be specified if Number of Splits is not set to 1.",
                "Bounding Query must be specified if Number of Splits is not set to 1.",
            ],
        ),
        ({"numSplits": "0"}, ["Invalid value for Number of Splits '0'."]),
        (
            {"transactionIsolationLevel": "SOME"},
            ["There is no isolation level 'SOME'."],
        ),
        ({"columnNameCase": "lower"}, []),
    ],
)
def test_what_is_wrong_with_a_source_is_said(properties: dict[str, str], expected: list[str]):
    given = SOURCE | {"schema": SCHEMA} | properties
    assert messages(configure("batchsource", "Database", given)) == expected
    macros = [name for name in given if name in ("connectionString", "importQuery", "schema")]
    late = given | dict.fromkeys(macros, "${m}")
    if not expected:
        assert messages(configure("batchsource", "Database", late, macros=macros)) == []


def test_the_columns_of_a_query_with_a_macro_stay_open():
    given = SOURCE | {"importQuery": "SELECT * FROM ${table}"}
    result = configure("batchsource", "Database", given, macros=["importQuery"])
    assert (messages(result), result.output_schema) == ([], None)


def test_what_is_wrong_with_a_sink_is_said():
    properties = {"jdbcPluginName": "x", "connectionString": "jdbc:x:", "columns": "id,nome"}
    properties["tableName"] = "t"
    given = Schema.parse_record(SCHEMA)

    found = configure("batchsink", "Database", properties, given=given)

    assert messages(found) == [
        "Column 'nome' is not a field of the input schema.",
    ]


def test_sinks_only_insert_and_know_the_schema_of_the_table():
    properties = {"jdbcPluginName": "x", "connectionString": "jdbc:x:", "tableName": "t"}
    given = Schema.parse_record(SCHEMA)
    keyed = configure("batchsink", "Database", properties | {"relationTableKey": "id"}, given=given)
    assert messages(keyed) == ["Table key should be null in case of 'INSERT'."]
    config = DatabaseSink.Config.build(
        properties | {"dbSchemaName": "sales", "columnNameCase": "lower"}, FailureCollector("s")
    )
    assert config.get_table_name() == "sales.t"


ARGUMENTS = {
    "databaseName": "d",
    "tableName": "settings",
    "argumentSelectionConditions": "feed='news';day=1",
    "argumentsColumns": "path, size,absent",
}


@pytest.mark.spark
def test_arguments_come_from_the_one_row_that_matches(database: Database):
    table = (
        "CREATE TABLE settings (feed VARCHAR(9), day INT, path VARCHAR(9), size INT, absent INT)"
    )
    rows = "('news', 1, 'in.csv', 7, NULL), ('news', 2, '', 0, 0), ('x', 3, '', 0, 0)"
    insert = f"INSERT INTO settings VALUES {rows}"
    assert database.execute(table).error is None
    assert database.execute(insert).error is None
    setter = database.plugin("action", "DatabaseArgumentSetter", **ARGUMENTS)
    source = database.csv("1,x,,,\n")
    source["properties"]["path"] = "${path}"
    source["properties"]["sampleSize"] = "${size}"
    sink = {"type": "batchsink", "name": "Trash", "properties": {}}

    run = database.run(setter, source, sink)

    assert run.error is None
    assert run.stages["s2"].records_in == 1
    log = database.instance.cdap.runs.read_log(run.run)
    assert any("Column 'absent' is null" in line.text for line in log)
    setter["properties"]["argumentSelectionConditions"] = "feed='news'"
    assert "More than one records found." in str(database.run(setter, source, sink).error)
    setter["properties"]["argumentSelectionConditions"] = "feed='none'"
    assert "No record found." in str(database.run(setter, source, sink).error)
    setter["properties"]["argumentsColumns"] = "nothing"
    failed = database.run(setter, source, sink).error
    assert failed.stage == "s0"
    assert "NOTHING" in failed.message


def test_arguments_need_a_table_conditions_and_columns():
    place = {"jdbcPluginName": "d", "connectionString": "jdbc:d:x"}
    assert messages(configure("action", "DatabaseArgumentSetter", place)) == [
        "Invalid database.",
        "Invalid table.",
        "Invalid conditions.",
        "Invalid arguments columns.",
    ]
    assert messages(configure("action", "DatabaseArgumentSetter", place | ARGUMENTS)) == []
    macros = list(ARGUMENTS)
    late = configure("action", "DatabaseArgumentSetter", place | ARGUMENTS, macros=macros)
    assert messages(late) == []
