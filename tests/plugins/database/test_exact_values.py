"""Values at the edges of databases: none is wrong, lost or invented in silence. At real servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.schema import Schema
from localcdap.testing.instance import TemporaryInstance
from tests.plugins.database.real_servers import Server, mariadb, postgres
from tests.plugins.database.test_database import pipeline
from tests.plugins.database.test_real_servers import (
    Place,
    instance,
    place,
    run_to_json,
    server,
)

__all__ = ["instance", "place", "server"]
pytestmark = [pytest.mark.spark, pytest.mark.systems]

only_postgres = pytest.mark.parametrize("server", [postgres], ids=["postgres"], indirect=True)
only_mariadb = pytest.mark.parametrize("server", [mariadb], ids=["mariadb"], indirect=True)
TRASH = {"type": "batchsink", "name": "Trash", "properties": {"referenceName": "t"}}


def altered(place: Place) -> dict[str, tuple[int, str]]:
    """The number and the first of the values that the last run altered, by the field of the message."""
    (run,) = place.instance.cdap.runs.list_runs("default", limit=1)
    return {each.change.split("'")[1]: (each.count, each.first) for each in run.altered}


TIMES = [
    "'1582-10-04', '1582-10-04 23:59:59.999999'",
    "'1500-02-28', '1500-02-28 00:00:00'",
    "'1000-01-01', '1000-01-01 01:02:03.000004'",
    "'9999-12-31', '9999-12-31 23:59:59.999999'",
    "'1900-01-01', '1890-01-01 00:00:00'",
]


def test_old_dates_and_times_are_read_and_written(place: Place):
    moment = {"Postgres": "timestamp", "Mysql": "datetime(6)"}[place.server.plugin]
    place.server.sql(
        f"CREATE TABLE old_times (day date, moment {moment});"
        f"CREATE TABLE old_copies (day date, moment {moment});"
        f"INSERT INTO old_times VALUES {', '.join(f'({each})' for each in TIMES)};"
    )
    source = place.plugin("batchsource", importQuery="SELECT * FROM old_times")

    run = place.run(source, place.plugin("batchsink", tableName="old_copies"))

    assert run.error is None
    rows = "SELECT * FROM {} ORDER BY moment;"
    assert place.server.sql(rows.format("old_copies")) == place.server.sql(rows.format("old_times"))
    assert altered(place) == {}
    records = run_to_json(place, f"old-{place.server.plugin}", source)
    assert sorted(record["day"] for record in records)[:2] == ["1000-01-01", "1500-02-28"]
    assert min(record["moment"][:26] for record in records) == "1000-01-01T01:02:03.000004"


@only_postgres
def test_times_that_only_postgresql_has(place: Place):
    query = (
        "SELECT '0044-03-15 BC'::date AS a, '0044-03-15 01:02:03 BC'::timestamp AS b, "
        "'0044-03-15 01:02:03 BC'::timestamptz AT TIME ZONE 'UTC' AS c, '10000-01-01'::date AS d, "
        "'12000-01-01 00:00:00.000001+00'::timestamptz AS e, '1582-10-10'::date AS f, "
        "'1582-10-10 00:00+00'::timestamptz AS g, '24:00:00'::time AS h, '5874897-12-31'::date AS i"
    )

    (record,) = run_to_json(place, "edges", place.plugin("batchsource", importQuery=query))

    assert record == {
        "a": "-0043-03-15", "b": "-0043-03-15T01:02:03.000000", "c": "-0043-03-15T01:02:03.000000",
        "d": "+10000-01-01", "e": "+12000-01-01T00:00:00.000001Z", "f": "1582-10-10",
        "g": "1582-10-10T00:00:00.000000Z", "h": "00:00:00", "i": "+5874897-12-31",
    }  # fmt: skip
    assert altered(place) == {"h": (1, "24:00:00")}


@only_postgres
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("'infinity'::date", "infinity"),
        ("'-infinity'::timestamp", "-infinity"),
        ("'infinity'::timestamptz", "infinity"),
        ("'294276-12-31'::timestamp", "294276-12-31 00:00:00"),
    ],
)
def test_a_time_that_no_field_can_be_fails_with_its_column(place: Place, value: str, text: str):
    run = place.run(place.plugin("batchsource", importQuery=f"SELECT {value} AS v"), TRASH)

    kind = value.rpartition(":")[2]
    assert (
        run.error.message
        == f"Stage 's0': Column 'v' is of type {kind}, but no field can be {text}."
    )


@only_mariadb
@pytest.mark.parametrize("text", ["838:59:59", "-01:00:00"])
def test_a_time_beyond_a_day_fails_with_its_column(place: Place, text: str):
    query = f"SELECT CAST('{text}' AS time(6)) AS v"

    run = place.run(place.plugin("batchsource", importQuery=query), TRASH)

    assert f"Column 'v' is of type TIME, but no field can be {text}" in run.error.message


@only_mariadb
def test_texts_of_mysql_get_no_blanks_and_its_bits_are_refused(place: Place):
    place.server.sql(
        "CREATE TABLE short_texts (c char(4), e enum('a', 'bcd'), s set('a', 'b'), i inet4, bits bit(8));"
        "INSERT INTO short_texts VALUES ('ab', 'a', 'a', '1.2.3.4', b'10000001');"
    )
    texts = "SELECT c, e, s, i FROM short_texts"

    (record,) = run_to_json(place, "texts", place.plugin("batchsource", importQuery=texts))

    assert record == {"c": "ab", "e": "a", "s": "a", "i": "1.2.3.4"}
    bits = "SELECT {} FROM short_texts"
    found = place.run(place.plugin("batchsource", importQuery=bits.format("bits")), TRASH)
    assert "Column 'bits' has the type BIT, which no field has." in found.error.message
    schema = str(Schema.record("r", [("bits", Schema.BYTES)]))
    declared = place.plugin("batchsource", importQuery=bits.format("bits"), schema=schema)
    assert "column 'bits' has several bits" in place.run(declared, TRASH).error.message
    number = place.plugin("batchsource", importQuery=bits.format("bits + 0 AS bits"))
    assert run_to_json(place, "bits", number) == [{"bits": 129}]


LIMITED = {
    "Postgres": "id int, n numeric(5,2), i int, r real, c char(3), v varchar(3), moment timestamp(0), "
    "instant timestamptz(3), day date, clock time(0), wide numeric(50,20), open numeric",
    "Mysql": "id int, n decimal(5,2), i int, r float, c char(3), v varchar(3), moment datetime, "
    "instant timestamp(3) NULL, day date, clock time, wide decimal(50,20), open decimal(38,20)",
}
GIVEN = Schema.record(
    "r",
    [
        ("id", Schema.INT),
        ("n", Schema.decimal(20, 5).as_nullable),
        ("i", Schema.DOUBLE.as_nullable),
        ("r", Schema.DOUBLE.as_nullable),
        ("c", Schema.STRING.as_nullable),
        ("v", Schema.STRING.as_nullable),
        ("moment", Schema.DATETIME.as_nullable),
        ("instant", Schema.TIMESTAMP.as_nullable),
        ("day", Schema.DATETIME.as_nullable),
        ("clock", Schema.TIME.as_nullable),
        ("wide", Schema.decimal(38, 20).as_nullable),
        ("open", Schema.decimal(38, 20).as_nullable),
    ],
)
FITTING: dict[str, Any] = {
    "id": 1, "n": "1.01000", "i": 2.0, "r": 0.5, "c": "abc", "v": "ab", "moment": "2024-05-06T07:08:09",
    "instant": "2024-05-06T07:08:09.123Z", "day": "2024-05-06T00:00:00", "clock": "10:11:12",
    "wide": "123456789012345678.00000000000000000001", "open": "0.00000000000000000001",
}  # fmt: skip
CHANGED: dict[str, Any] = {
    "id": 2, "n": "1.00500", "i": 2.5, "r": 0.1, "c": "a ", "v": "ab  ", "moment": "2024-05-06T07:08:09.6",
    "instant": "2024-05-06T07:08:09.123456Z", "day": "2024-05-06T07:00:00", "clock": "10:11:12.7",
}  # fmt: skip


def json_source(
    place: Place, name: str, schema: Schema, *records: dict[str, Any]
) -> dict[str, Any]:
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (place.instance.home.path / name).write_text(lines)
    properties = {"referenceName": "f", "path": name, "format": "json", "schema": str(schema)}
    return {"type": "batchsource", "name": "File", "properties": properties}


def test_what_a_column_changes_is_counted(place: Place):
    place.server.sql(f"CREATE TABLE limited ({LIMITED[place.server.plugin]});")
    nulls = {"id": 3}
    source = json_source(place, "limited.json", GIVEN, FITTING, CHANGED, nulls)

    run = place.run(source, place.plugin("batchsink", tableName="limited"))

    assert run.error is None
    assert altered(place) == {
        "n": (1, "1.00500"), "i": (1, "2.5"), "r": (1, "0.1"), "c": (1, "a "), "v": (1, "ab  "),
        "moment": (1, "2024-05-06 07:08:09.6"), "instant": (1, "2024-05-06 07:08:09.123456"),
        "day": (1, "2024-05-06 07:00:00"), "clock": (1, "10:11:12.7"),
    }  # fmt: skip
    rows = place.server.sql("SELECT id, n, i FROM limited WHERE id < 3 ORDER BY id;")
    assert rows.replace("\t", "|") == "1|1.01|2\n2|1.01|" + (
        "2" if place.server.plugin == "Postgres" else "3"
    )
    warned = [line.text for line in place.instance.cdap.runs.read_log(run.run)]
    kind = {"Postgres": "numeric", "Mysql": "decimal"}[place.server.plugin]
    change = f"field 'n' does not fit column 'n' of the type {kind}(5,2), which changes it"
    assert any(change in text for text in warned)


@only_mariadb
def test_what_mysql_without_a_strict_mode_makes_of_texts_is_counted(place: Place):
    place.server.sql("CREATE TABLE loose (n decimal(5,2), i int, v varchar(3));")
    fields = [(name, Schema.STRING) for name in ("n", "i", "v")]
    schema = Schema.record("r", fields)
    records = [{"n": "1.25", "i": "3", "v": "abc"}, {"n": "12x", "i": "99999999999", "v": "abcd"}]
    loose = "sessionVariables=sql_mode=''"
    sink = place.plugin("batchsink", tableName="loose", connectionArguments=loose)

    run = place.run(json_source(place, "loose.json", schema, *records), sink)

    assert run.error is None
    assert place.server.sql("SELECT * FROM loose;") == "1.25\t3\tabc\n12.00\t2147483647\tabc"
    assert altered(place) == {"n": (1, "12x"), "i": (1, "99999999999"), "v": (1, "abcd")}


NAMES = ["abc", "ABC", "abc ", "a\\b", "a'b", "a%", "a_", "ä"]


def test_a_condition_has_the_meaning_of_its_stage(place: Place, server: Server, tmp_path: Path):
    """Without counts nothing keeps Spark from having the database compute a condition."""
    place.server.sql("CREATE TABLE named (name varchar(20));")
    names = Schema.record("r", [("name", Schema.STRING)])
    rows = json_source(place, "names.json", names, *({"name": name} for name in NAMES))
    assert place.run(rows, place.plugin("batchsink", tableName="named")).error is None
    source = place.source("SELECT name FROM named", schema=str(names))
    with TemporaryInstance(tmp_path) as uncounted:
        uncounted.settings("[engine]\ncounts = false\n")
        folder = uncounted.home.path / "jdbc"
        folder.mkdir()
        (folder / f"{server.plugin}.jar").symlink_to(server.driver)
        for number, name in enumerate(("abc", "a\\b")):
            literal = name.replace("\\", "\\\\")
            wanted = {
                "type": "transform",
                "name": "Wrangler",
                "properties": {
                    "directives": f"filter-row-if-false name == '{literal}'",
                    "schema": str(names),
                },
            }
            out = {"referenceName": "o", "path": f"out{number}", "format": "json"}
            sink = {"type": "batchsink", "name": "File", "properties": out}

            run = uncounted.run(pipeline(source, wanted, sink))

            assert run.error is None
            files = (uncounted.home.path / f"out{number}").glob("*.json")
            found = [json.loads(line) for file in files for line in file.read_text().splitlines()]
            assert found == [{"name": name}]


@only_mariadb
def test_a_pattern_with_a_backslash_selects_the_tables_of_mysql(place: Place):
    place.server.sql("CREATE TABLE pat_a (i int); CREATE TABLE patxa (i int);")
    place.server.sql("INSERT INTO pat_a VALUES (1); INSERT INTO patxa VALUES (2);")
    source = place.plugin("batchsource") | {"name": "MultiTableDatabase"}
    wanted = ("jdbcPluginName", "user", "password", "referenceName")
    url = f"jdbc:mysql://127.0.0.1:{place.server.port}/shop?permitMysqlScheme=true"
    source["properties"] = {name: source["properties"][name] for name in wanted} | {
        "connectionString": url,
        "tableNamePattern": "pat\\_a",
    }

    records = run_to_json(place, "pattern", source)

    assert records == [{"i": 1, "tablename": "pat_a"}]
