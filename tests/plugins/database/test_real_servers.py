"""The plugins for MySQL and PostgreSQL at real servers, where those are on the machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from localcdap.api.app.connections import ConnectionPlugin
from localcdap.api.connector import BrowseRequest, SampleRequest, SampleType
from localcdap.api.schema import Schema
from localcdap.files.formats import FORMER_JSON
from localcdap.testing.instance import TemporaryInstance
from localcdap.tui.screens.prep.result_keys import open_all_rows
from localcdap.tui.screens.prep.source import PrepRequest, PrepSource, close_session
from tests.plugins.database.real_servers import PASSWORD, Server, mariadb, postgres
from tests.plugins.database.test_database import pipeline

pytestmark = [pytest.mark.spark, pytest.mark.systems]

WRONG = "not-the-one"
SCHEMA = Schema.record(
    "r",
    [
        ("id", Schema.INT),
        ("name", Schema.STRING.as_nullable),
        ("big", Schema.LONG.as_nullable),
        ("price", Schema.decimal(12, 3).as_nullable),
        ("ratio", Schema.DOUBLE.as_nullable),
        ("moment", Schema.DATETIME.as_nullable),
        ("instant", Schema.TIMESTAMP.as_nullable),
        ("day", Schema.DATE.as_nullable),
        ("clock", Schema.TIME.as_nullable),
        ("raw", Schema.BYTES.as_nullable),
        ("flag", Schema.BOOLEAN.as_nullable),
        ("key", Schema.STRING.as_nullable),
        ("doc", Schema.STRING.as_nullable),
    ],
)
COLUMNS = {
    "Postgres": "id int PRIMARY KEY, name text, big bigint, price numeric(12,3), ratio float8, "
    "moment timestamp, instant timestamptz, day date, clock time, raw bytea, flag boolean, key uuid, "
    "doc jsonb",
    "Mysql": "id int PRIMARY KEY, name text, big bigint, price decimal(12,3), ratio double, "
    "moment datetime(6), instant timestamp(6) NULL, day date, clock time(6), raw blob, flag boolean, "
    "`key` char(36), doc json",
}
_TEXT = "'añ', 4294967296, 1.250, 0.5, '2024-05-06 07:08:09.000001'"
_KEY = "'00000000-0000-0000-0000-00000000000a'"
ROWS = {
    "Postgres": f"""INSERT INTO given VALUES (1, {_TEXT}, '2024-05-06 07:08:09.000001+00', '2024-05-06',
        '23:59:59.000001', '\\x00ff', true, {_KEY}, '{{"a": [1]}}');""",
    "Mysql": f"""SET time_zone = '+00:00'; INSERT INTO given VALUES (1, {_TEXT}, '2024-05-06 07:08:09.000001',
        '2024-05-06', '23:59:59.000001', x'00ff', true, {_KEY}, '{{"a": [1]}}');""",
}


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory, cdap_engine_directory: Path):
    assert cdap_engine_directory
    with TemporaryInstance(tmp_path_factory.mktemp("instance")) as made:
        yield made


@pytest.fixture(scope="module", params=[postgres, mariadb], ids=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest, instance: TemporaryInstance) -> Iterator[Server]:
    with request.param() as started:
        folder = instance.home.path / "jdbc"
        folder.mkdir(exist_ok=True)
        shutil.copy(started.driver, folder / f"{started.plugin}.jar")
        yield started


class Place:
    """The database ``shop`` of a server, from pipelines of an instance."""

    def __init__(self, instance: TemporaryInstance, server: Server) -> None:
        self.instance = instance
        self.server = server
        quote = '"' if server.plugin == "Postgres" else "`"
        names = [f"{quote}{name}{quote}" for name in SCHEMA.field_names]
        self.query = f"SELECT {', '.join(names)} FROM {{}} ORDER BY id;"

    def plugin(self, type: str, **properties: str) -> dict[str, Any]:
        place = {
            "jdbcPluginName": self.server.plugin,
            "host": "127.0.0.1",
            "port": str(self.server.port),
            "database": "shop",
            "user": "app",
            "password": PASSWORD,
            "referenceName": "r",
        }
        return {"type": type, "name": self.server.plugin, "properties": place | properties}

    def source(self, query: str, **properties: str) -> dict[str, Any]:
        schema = {"schema": str(SCHEMA), "importQuery": query}
        return self.plugin("batchsource", **schema | properties)

    def run(self, *plugins: dict[str, Any], **arguments: str) -> Any:
        return self.instance.run(pipeline(*plugins), arguments)


@pytest.fixture(scope="module")
def place(instance: TemporaryInstance, server: Server) -> Place:
    made = Place(instance, server)
    server.sql(f"CREATE TABLE given ({COLUMNS[server.plugin]});")
    server.sql(ROWS[server.plugin] + " INSERT INTO given (id) VALUES (2);")
    return made


def test_all_types_are_read_and_written(place: Place):
    columns = COLUMNS[place.server.plugin]
    create = place.plugin("action", query=f"CREATE TABLE copies ({columns})")

    run = place.run(
        create, place.source("SELECT * FROM given;"), place.plugin("batchsink", tableName="copies")
    )

    assert run.error is None
    given = place.server.sql(place.query.format("given"))
    assert given.count("\n") == 1
    assert place.server.sql(place.query.format("copies")) == given
    moment = {
        "Postgres": "SELECT instant AT TIME ZONE 'UTC' FROM copies WHERE id = 1;",
        "Mysql": "SET time_zone = '+00:00'; SELECT instant FROM copies WHERE id = 1;",
    }
    assert place.server.sql(moment[place.server.plugin]) == "2024-05-06 07:08:09.000001"


ODD: dict[str, tuple[str, dict[str, Any]]] = {
    "Postgres": (
        """SELECT 0.1::numeric AS number, ARRAY[1,2] AS list, '10:00+02'::timetz AS late,
        '5.5'::money AS coins, B'101' AS bits""",
        {"number": "0.1", "list": "{1,2}", "late": "10:00:00+02", "coins": "$5.50", "bits": "101"},
    ),
    "Mysql": (
        "SELECT y AS year, 0.25 AS number, @@session.time_zone AS zone FROM odd",
        {"year": 2007, "number": "0.25", "zone": "+00:00"},
    ),
}
"""Queries, and their rows as texts and whole numbers."""


def test_types_that_only_they_have_are_read(place: Place):
    server = place.server
    if server.plugin == "Mysql":
        server.sql("CREATE TABLE odd (y year); INSERT INTO odd VALUES (2007);")
    query, expected = ODD[server.plugin]
    fields = [
        (name.upper(), Schema.INT if isinstance(value, int) else Schema.STRING)
        for name, value in expected.items()
    ]
    schema = str(Schema.record("r", fields))
    sink = {
        "referenceName": "o",
        "path": f"odd-{server.plugin}",
        "format": "json",
        FORMER_JSON: "true",
    }

    run = place.run(
        place.source(query, schema=schema, columnNameCase="Upper"),
        {"type": "batchsink", "name": "File", "properties": sink},
    )

    assert run.error is None
    (text,) = [
        file.read_text()
        for file in (place.instance.home.path / sink["path"]).iterdir()
        if file.stat().st_size and not file.name.startswith(("_", "."))
    ]
    assert json.loads(text) == {name.upper(): value for name, value in expected.items()}


def test_a_row_that_fails_leaves_nothing(place: Place):
    columns = COLUMNS[place.server.plugin]
    place.server.sql(f"CREATE TABLE taken ({columns}); INSERT INTO taken (id) VALUES (2);")

    run = place.run(
        place.source("SELECT * FROM given"), place.plugin("batchsink", tableName="taken")
    )

    assert run.error is not None
    host = f"127.0.0.1:{place.server.port}"
    assert f"Stage 's1': the database at {host} reports an error:" in run.error.message
    assert "uplicate" in run.error.message
    if place.server.plugin == "Postgres":
        assert "Row: " in run.error.message
    assert place.server.sql("SELECT id FROM taken;") == "2"


def test_a_query_that_fails_amid_the_rows_says_why(place: Place):
    failing = {
        "Postgres": ("SELECT 1 / (id - 2) AS id FROM given", "division by zero"),
        "Mysql": ("SELECT (SELECT id FROM given) AS id", "Subquery returns more than 1 row"),
    }
    query, reason = failing[place.server.plugin]
    schema = str(Schema.record("r", [("id", Schema.INT.as_nullable)]))
    trash = {"type": "batchsink", "name": "Trash", "properties": {"referenceName": "t"}}

    run = place.run(place.source(query, schema=schema), trash)

    assert run.error is not None
    assert run.error.stage == "s0"
    assert reason in run.error.message


def test_a_connection_with_a_secure_key_and_one_that_is_wrong(place: Place):
    cdap, server = place.instance.cdap, place.server
    given = place.plugin("", referenceName="")["properties"]
    shop = {"name": server.plugin, "properties": {k: v for k, v in given.items() if v}}
    cdap.connections.load("default", {"name": f"shop {server.plugin}", "plugin": shop})
    used = {"useConnection": "true", "connection": f"${{conn(shop {server.plugin})}}"}
    emptied = dict.fromkeys(("host", "database", "user", "password", "jdbcPluginName"), "")
    drop = place.plugin("action", query="DELETE FROM emptied", **used, **emptied, port="0")
    drop["properties"]["port"] = ""
    server.sql("CREATE TABLE emptied (id int); INSERT INTO emptied VALUES (1);")
    cdap.secure_keys.put("default", "wrong", WRONG)
    denied = place.plugin("action", query="DELETE FROM given", password="${secure(wrong)}")
    trash = {"type": "batchsink", "name": "Trash", "properties": {"referenceName": "t"}}

    run = place.run(drop, place.source("SELECT * FROM given"), trash)
    refused = place.run(denied, place.source("SELECT * FROM given"), trash)

    assert run.error is None
    assert server.sql("SELECT count(*) FROM emptied;") == "0"
    assert refused.error is not None
    assert f"the database at 127.0.0.1:{server.port} denies access:" in (refused.error.message)
    assert "'user' and 'password'" in str(refused.error.corrective_action)
    shown = str(refused) + str(cdap.runs.read_log(refused.run))
    assert WRONG not in shown


def test_a_connection_browses_and_samples(place: Place):
    cdap, server = place.instance.cdap, place.server
    given = place.plugin("", referenceName="")["properties"]
    kind = {"Postgres": "PostgreSQL", "Mysql": "MySQL"}[server.plugin]
    properties = {key: value for key, value in given.items() if value}
    shop = {"name": kind, "properties": properties}
    cdap.connections.load("default", {"name": kind, "plugin": shop})
    schema = {"Postgres": "public", "Mysql": "shop"}[server.plugin]
    server.sql("CREATE TABLE looked_at AS SELECT * FROM given;")

    assert cdap.connectors.test_stored("default", kind) == []
    found = cdap.connectors.browse("default", kind, BrowseRequest("/"))
    assert [each.path for each in found.entities] == [f"/{schema}"]
    tables = cdap.connectors.browse("default", kind, BrowseRequest(f"/{schema}"))
    assert {"given", "looked_at"} <= {each.name for each in tables.entities}
    path = f"/{schema}/looked_at"
    sampled = cdap.connectors.sample("default", kind, SampleRequest(path))
    records = sampled.result.records
    (record,) = (each for each in records if each["id"] == 1)
    assert (record["id"], record["name"], record["price"]) == (1, "añ", "1.250")
    assert (record["flag"], record["day"], record["raw"]) == (True, "2024-05-06", "AP8=")
    assert sampled.result.total == len(records)
    (source,) = sampled.detail.related_plugins
    assert (source.name, source.type) == (server.plugin, "batchsource")
    assert source.properties["connection"] == f"${{conn({kind})}}"
    assert PASSWORD not in str(sampled)
    trash = {"type": "batchsink", "name": "Trash", "properties": {"referenceName": "t"}}
    read = {"type": "batchsource", "name": source.name, "properties": source.properties}
    assert place.run(read, trash).error is None

    wrong = ConnectionPlugin(kind, properties=properties | {"password": WRONG})
    (failure,) = cdap.connectors.test("default", wrong)
    assert "denies access" in failure.message
    lacking = ConnectionPlugin(kind, properties=properties | {"jdbcPluginName": "none"})
    (failure,) = cdap.connectors.test("default", lacking)
    assert failure.property == "jdbcPluginName"


def test_random_records_and_all_rows_of_a_connection(place: Place):
    cdap, server = place.instance.cdap, place.server
    given = place.plugin("", referenceName="")["properties"]
    kind = {"Postgres": "PostgreSQL", "Mysql": "MySQL"}[server.plugin]
    shop = {"name": kind, "properties": {key: value for key, value in given.items() if value}}
    cdap.connections.load("default", {"name": "many_rows", "plugin": shop})
    schema = {"Postgres": "public", "Mysql": "shop"}[server.plugin]
    server.sql("CREATE TABLE many (id int PRIMARY KEY, label varchar(20));")
    server.sql(
        f"INSERT INTO many VALUES {', '.join(f'({n}, $${n}$$)' for n in range(3000))};".replace(
            "$$", "'"
        )
    )
    path = f"/{schema}/many"

    def sample(seed: int | None) -> list[int]:
        request = SampleRequest(path, 100, sampling_type=SampleType.RANDOM, seed=seed)
        found = cdap.connectors.sample("default", "many_rows", request).result
        assert (found.total, len(found.records), found.is_estimate) == (3000, 100, False)
        return [record["id"] for record in found.records]

    one, other = sample(1), sample(2)
    assert sample(1) == one
    assert set(one) != set(other)
    assert sample(None)
    assert len(set(one)) == 100
    assert max(one) > 1500, "not the first rows"

    source = PrepSource(connection="many_rows", place=path)
    request = PrepRequest(source, "session", "default", [])
    shares: list[float | None] = []
    with open_all_rows(cdap, request, lambda: False, shares.append) as rows:
        found = pq.read_table(rows["path"])
    assert sorted(found.column("id").to_pylist()) == list(range(3000))
    assert not Path(rows["path"]).exists()
    assert shares
    close_session(cdap, "session", "default")


def test_a_server_that_is_not_there_is_reported_with_its_host(place: Place):
    source = place.source("SELECT 1", port="1")
    sink = place.plugin("batchsink", tableName="copies")

    run = place.run(source, sink)

    assert run.error is not None
    assert "the database at 127.0.0.1:1 cannot be reached:" in run.error.message
    assert "host and port" in str(run.error.corrective_action)


@pytest.mark.parametrize("server", [postgres], ids=["postgres"], indirect=True)
def test_a_table_with_capitals_in_a_schema(place: Place):
    place.server.sql('CREATE SCHEMA "Sales"; CREATE TABLE "Sales"."Orders" (id int);')
    schema = str(Schema.record("r", [("id", Schema.INT)]))
    sink = place.plugin("batchsink", tableName="Orders", dbSchemaName="Sales")

    run = place.run(place.source("SELECT id FROM given", schema=schema), sink)

    assert run.error is None
    assert place.server.sql('SELECT count(*) FROM "Sales"."Orders";') == "2"


def test_a_server_of_yours_stands_for_one_at_cloud_sql(place: Place):
    server = place.server
    table = "CREATE TABLE cloud (id int)"
    given = place.plugin("action", query=table)
    given["properties"] |= {"connectionName": "127.0.0.1", "instanceType": "private"}
    given["name"] = server.cloud_plugin
    trash = {"type": "batchsink", "name": "Trash", "properties": {"referenceName": "t"}}

    assert place.run(given, place.source("SELECT * FROM given"), trash).error is None

    assert server.sql("SELECT count(*) FROM cloud;") == "0"


def test_all_tables_are_read_at_once(place: Place, instance: TemporaryInstance):
    server = place.server
    server.sql(
        "CREATE TABLE many_a (id int PRIMARY KEY, name text); CREATE TABLE many_b (id text);"
    )
    server.sql(
        "INSERT INTO many_a VALUES (1, 'x'), (2, 'y'), (9, 'z'); INSERT INTO many_b VALUES ('b');"
    )
    kind = "postgresql" if server.plugin == "Postgres" else "mysql"
    url = f"jdbc:{kind}://127.0.0.1:{server.port}/shop"
    url += "" if kind == "postgresql" else "?permitMysqlScheme=true"
    source = place.plugin("batchsource") | {"name": "MultiTableDatabase"}
    wanted = ("jdbcPluginName", "user", "password", "referenceName")
    source["properties"] = {name: source["properties"][name] for name in wanted} | {
        "connectionString": url,
        "tableNamePattern": "many_%",
        "splitsPerTable": "3",
    }
    out = {"referenceName": "o", "path": f"many-{kind}", "format": "json", FORMER_JSON: "true"}

    run = place.run(source, {"type": "batchsink", "name": "File", "properties": out})

    assert run.error is None
    files = (instance.home.path / f"many-{kind}").iterdir()
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert sorted(rows, key=str) == [
        {"id": "1", "name": "x", "tablename": "many_a"},
        {"id": "2", "name": "y", "tablename": "many_a"},
        {"id": "9", "name": "z", "tablename": "many_a"},
        {"id": "b", "name": None, "tablename": "many_b"},
    ]


def _only_postgres(place: Place) -> None:
    if place.server.plugin != "Postgres":
        pytest.skip("the types and operations are those of PostgreSQL")


def run_to_json(place: Place, name: str, *plugins: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of the last plugin."""
    sink = {"referenceName": "o", "path": name, "format": "json", FORMER_JSON: "true"}
    run = place.run(*plugins, {"type": "batchsink", "name": "File", "properties": sink})
    assert run.error is None, run.error
    return [
        json.loads(line)
        for file in sorted((place.instance.home.path / name).iterdir())
        if not file.name.startswith(("_", "."))
        for line in file.read_text().splitlines()
    ]


@pytest.mark.slow
def test_a_source_without_a_schema_has_the_types_of_cdap(place: Place):
    _only_postgres(place)
    query = (
        "SELECT 0.1234567890123456789012345::numeric AS n, B'101' AS bits, '10:00+02'::timetz AS late, "
        "ARRAY[1,2] AS list, '1 day'::interval AS span, 7::oid AS o, 1.5::numeric(50,10) AS wide"
    )

    records = run_to_json(place, "no-schema", place.plugin("batchsource", importQuery=query))

    assert records == [
        {"n": "0.1234567890123456789012345", "bits": "101", "late": "10:00:00+02", "list": "{1,2}",
         "span": "1 day", "o": 7, "wide": 1.5}
    ]  # fmt: skip


@pytest.mark.slow
def test_decimals_of_postgresql_are_rounded_half_to_even(place: Place):
    _only_postgres(place)
    place.server.sql(
        "CREATE TABLE halves (id int, a numeric, b numeric(10,3));"
        "INSERT INTO halves VALUES (1,0.25,0.250),(2,0.35,-0.250),(3,2.5,1.005),(4,NULL,NULL);"
    )
    fields = [
        ("id", Schema.INT),
        ("a", Schema.decimal(38, 1).as_nullable),
        ("b", Schema.decimal(10, 1).as_nullable),
    ]
    schema = str(Schema.record("r", fields))
    source = place.plugin(
        "batchsource", importQuery="SELECT * FROM halves ORDER BY id", schema=schema
    )

    records = run_to_json(place, "halves", source)

    assert [(record.get("a"), record.get("b")) for record in records] == [
        (0.2, 0.2), (0.4, -0.2), (2.5, 1.0), (None, None)
    ]  # fmt: skip
    run = place.instance.cdap.runs.list_runs("default", limit=1)[0]
    assert [(v.change, v.count, v.first) for v in run.altered] == [
        ("a decimal of field 'a' was rounded half to even", 2, "0.25"),
        ("a decimal of field 'b' was rounded half to even", 3, "-0.250"),
    ]
    place.server.sql("INSERT INTO halves VALUES (5, 'NaN', 0);")
    failed = place.run(source, place.plugin("batchsink", tableName="halves"))
    assert "Field 'a' must be of type decimal" in failed.error.message


@pytest.mark.slow
def test_arguments_are_the_texts_of_the_driver(place: Place):
    _only_postgres(place)
    place.server.sql(
        "CREATE TABLE args (id int, n numeric, b boolean, tz timestamptz, ba bytea, ar int[]);"
        "INSERT INTO args VALUES (1, 2.5, true, '2020-01-02 03:04:05+00', '\\x6162', '{1,2}');"
    )
    where = {
        "connectionString": f"jdbc:postgresql://127.0.0.1:{place.server.port}/shop",
        "databaseName": "shop",
        "tableName": "args",
        "argumentSelectionConditions": "id=1",
        "argumentsColumns": "n,b,tz,ba,ar",
    }
    setter = place.plugin("action", **where)
    setter["name"] = "DatabaseArgumentSetter"
    for name in ("host", "port", "database", "referenceName"):
        del setter["properties"][name]
    query = "SELECT '${n} ${b} ${tz} ${ba} ${ar}' AS v"

    (record,) = run_to_json(place, "args", setter, place.plugin("batchsource", importQuery=query))

    texts = record["v"].split(" ")
    assert texts[:2] == ["2.5", "t"]
    assert texts[-2:] == ["\\x6162", "{1,2}"]
    assert "+" in texts[3]


@pytest.mark.slow
def test_rows_are_updated_and_upserted_by_key(place: Place):
    _only_postgres(place)
    place.server.sql(
        "CREATE TABLE keyed (id int PRIMARY KEY, v text, other int);"
        "INSERT INTO keyed VALUES (1, 'old', 10), (3, 'three', 30);"
    )
    query = "SELECT * FROM (VALUES (1, 'first'), (1, 'new'), (2, 'two')) AS records (id, v)"
    source = place.plugin("batchsource", importQuery=query)
    keyed = {"tableName": "keyed", "relationTableKey": "id"}

    update = place.run(source, place.plugin("batchsink", operationName="update", **keyed))

    assert update.error is None
    rows = "SELECT * FROM keyed ORDER BY id;"
    assert place.server.sql(rows) == "1|new|10\n3|three|30"
    log = place.instance.cdap.runs.read_log(update.run)
    assert any("which an update leaves out: 1." in line.text for line in log)

    upsert = place.run(source, place.plugin("batchsink", operationName="upsert", **keyed))

    assert upsert.error is None
    assert place.server.sql(rows) == "1|new|10\n2|two|\n3|three|30"
    left = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'localcdap%';"
    assert place.server.sql(left) == "0"

    keyed["relationTableKey"] = "v"
    failed = place.run(source, place.plugin("batchsink", operationName="upsert", **keyed))
    assert "no unique or exclusion constraint" in failed.error.message
    assert place.server.sql(left) == "0"
