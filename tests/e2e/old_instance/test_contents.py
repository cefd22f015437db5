"""What an instance that an earlier version made holds.

First settings, artifacts, pipelines, schedules and connections; then tables, datasets, applications, metadata
and lineage, whose last test changes a table. One host answers for all of them. Each test is about one
feature, and a later version adds to it what it changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from localcdap.api.app import FieldType
from localcdap.api.errors import QueryError
from localcdap.apps.model import AppRequest
from localcdap.engine.host_client import execute_statements
from localcdap.engine.messages.host import StatementBatch
from localcdap.files.formats import FORMER_JSON
from localcdap.home import Home
from localcdap.host.cdap import Cdap
from localcdap.tui.machine import read_user_state
from localcdap.tui.routes import PrepTarget
from tests.e2e.old_instance.conftest import ARCHIVE, MADE_AT, Ask, check_tables, read_rows
from tests.tui.screens.prep.test_screen import opened
from tests.tui.studio_driver import studio

READING_SCHEMA = [
    {"name": "body_1", "type": "int"},
    {"name": "body_2", "type": "string"},
    {"name": "body_3", "type": ["double", "null"]},
    {"name": "body_4", "type": "boolean"},
]
TENTH_OF_32_BITS = 0.10000000149011612
"""0.1 rounded to a float of 32 bits."""


def test_the_archive_holds_what_its_description_names(home: Path):
    for name in (
        "localcdap.toml",
        "localcdap.duckdb",
        "secrets.json",
        "data/readings.csv",
        "data/sales/2026/january.tsv",
        "filesets/default/sales/2026/02/part-0.parquet",
        "pipelines/readings.json",
        "plugins/seal-1.2.0.py",
        "plugins/system/notebook-1.0.0.py",
        "plugins/team/shout-1.0.0.py",
        "plugins/tidy-plugins/pyproject.toml",
        "plugins/daily-rates-plugins/pyproject.toml",
        "tests/readings.test.toml",
        "../state/localcdap/studio.json",
    ):
        assert (home / name).is_file(), name
    assert ARCHIVE.stat().st_size < 2**20


def test_settings(ask: Ask):
    settings = {each["key"]: each for each in ask("doctor")["settings"]}

    assert settings["preview.records"]["value"] == 20
    assert settings["locations"]["value"] == {"gs://sales": "data/sales"}


def test_artifacts(ask: Ask, home: Path):
    artifacts = {each["name"]: each for each in ask("artifacts")}

    assert [each["name"] for each in artifacts.values() if each["error"]] == []
    for name in ("seal", "tidy-plugins", "daily-rates-plugins", "notebook"):
        assert Path(artifacts[name]["path"]).is_relative_to(home)
    assert [each["name"] for each in artifacts["seal"]["plugins"]] == ["Seal"]
    assert "shout" not in artifacts
    assert "shout" in {each["name"] for each in ask("artifacts", "-n", "team")}


def test_namespaces_and_preferences(ask: Ask):
    described = {each["name"]: each["description"] for each in ask("namespaces")}
    assert described["team"] == "The orders of another team"

    def read(*options: str) -> dict[str, str]:
        found: dict[str, str] = ask("preferences", "--resolved", *options)
        return found

    assert read() == {"input": "data/orders.csv", "price.max": "100", "zone": "UTC"}
    assert read("-n", "team") == {"greeting": "hello", "zone": "UTC"}


def test_secure_keys(ask: Ask):
    assert {each["name"]: each["description"] for each in ask("secrets")} == {
        "connection-shop-password": "'password' of connection 'shop'",
        "seal-key": "For the seals of orders",
    }
    assert [each["name"] for each in ask("secrets", "-n", "team")] == ["team-key"]


def test_connections(ask: Ask):
    def read(name: str, *options: str) -> dict[str, str]:
        found: dict[str, str] = ask("connections", "show", name, *options)["plugin"]["properties"]
        return found

    assert read("feed") == {
        "url": "http://127.0.0.1:9/orders.csv",
        "requestHeaders": "Accept: text/csv\nAuthorization: Bearer t0ken-0f-the-feed",
    }
    assert read("shop")["password"] == "${secure(connection-shop-password)}"
    assert read("files", "-n", "team") == {"root": "data/sales"}
    entries = ask("connections", "browse", "files")["entities"]
    assert {"orders.csv", "readings.csv", "stamps"} <= {each["name"] for each in entries}
    sample = ask("connections", "sample", "files", "/2026/january.tsv", "-n", "team")
    assert sample["result"]["records"] == [
        {"item": "bread", "sold": "4"},
        {"item": "cheese", "sold": "2"},
    ]


def test_pipelines_drafts_and_templates(ask: Ask):
    deployed = {each["name"]: each for each in ask("pipelines")}
    assert set(deployed) == {
        "broken",
        "limits",
        "lines",
        "orders",
        "read_limits",
        "read_stamps",
        "read_times",
        "readings",
        "report",
        "write_stamps",
    }
    assert deployed["orders"]["description"] == "Checks, seals and adds up the orders of a day."
    for document in (ask("export", "readings"), ask("drafts", "show", "unfinished")):
        source = document["config"]["stages"][0]["plugin"]["properties"]
        assert json.loads(source["schema"])["fields"] == READING_SCHEMA
    assert [each["revision"] for each in ask("drafts", "revisions", "unfinished")] == [2, 1]
    (template,) = ask("templates")
    assert (template["name"], template["locked"]) == ("Orders file", ["format"])


def test_json_sinks_keep_their_form(ask: Ask):
    for name, sink in (("orders", "Rejects"), ("lines", "Json"), ("read_limits", "Json")):
        stages = {each["name"]: each["plugin"] for each in ask("export", name)["config"]["stages"]}
        marked = [stage for stage, plugin in stages.items() if FORMER_JSON in plugin["properties"]]
        assert marked == [sink]
        assert stages[sink]["properties"][FORMER_JSON] == "true"


def test_deployed_pipelines_are_valid(ask: Ask):
    for each in ask("pipelines"):
        if each["name"] != "write_stamps":
            assert ask("validate", each["name"])["errors"] == [], each["name"]
    assert ask("validate", "shouting", "-n", "team")["errors"] == []


def test_schedules(ask: Ask, runs: dict[str, Any]):
    schedules = {each["schedule"]["name"]: each["schedule"] for each in ask("schedules")}

    assert {name: each["status"] for name, each in schedules.items()} == {
        "dataPipelineSchedule": "SUSPENDED",
        "at-night": "SUSPENDED",
        "new-stamps": "SUSPENDED",
        "chained": "SCHEDULED",
        "yearly": "SCHEDULED",
    }
    assert schedules["yearly"]["trigger"]["cronExpression"] == "0 30 4 1 1 ? 2098"
    chained = schedules["chained"]["trigger"]
    assert (chained["type"], chained["programStatuses"]) == ("PROGRAM_STATUS", ["COMPLETED"])
    assert chained["programId"]["application"] == "orders"
    assert [each["type"] for each in schedules["new-stamps"]["trigger"]["triggers"]] == [
        "PROGRAM_STATUS",
        "PARTITION",
    ]
    assert [each["type"] for each in schedules["at-night"]["constraints"]] == [
        "LAST_RUN",
        "TIME_RANGE",
    ]
    started = [each for each in ask("schedules", "history") if each["kind"] == "STARTED"]
    assert started[-1]["run"] == runs["report"]["run"]


def test_recordings_and_the_place_of_their_files(ask: Ask, home: Path, tmp_path: Path):
    assert {each["key"]: (each["recording"], each["origin"]) for each in ask("recordings")} == {
        "plugin:SapBw": (f"{MADE_AT}/data/orders.csv", "instance"),
        "plugin:SapOdp": ("table:orders", "instance"),
        "stage:sap/Store": ("discard", "instance"),
        "reference:sap_orders": ("data/orders.csv", "localcdap.toml"),
        "stage:nightly/Store": ("discard", "localcdap.toml"),
    }
    assert ask("validate", str(home / "pipelines" / "sap.json"))["errors"] == []

    # The command kept an absolute path, which does not move with the instance; the failure names it.
    text = (home / "pipelines" / "sap.json").read_text()
    (tmp_path / "sap.json").write_text(text.replace('"SapOdp"', '"SapBw"'))
    failure = ask("validate", str(tmp_path / "sap.json"), code=1)["errors"][0]
    assert f"There is no recording '{MADE_AT}/data/orders.csv'" in failure["message"]


async def test_recipes_of_the_prep_area(cdap: Cdap, home: Path):
    state = read_user_state()
    assert state.find_recipe("default", f"{MADE_AT}/data/readings.csv") == [
        "filter-row exp:{body_3 == ''} true",
        "set-type :body_1 int",
    ]
    (version,) = state.find_versions("default", f"{MADE_AT}/data/readings.csv")
    assert (version.name, version.lines) == ("version 1", ["filter-row exp:{body_3 == ''} true"])

    async with studio(cdap, Home(home), target=PrepTarget(table="orders")) as driver:
        screen = await opened(driver)
        assert screen.recipe.directives == ["uppercase :city"]
    target = PrepTarget(connection="files", path="/orders.csv")
    async with studio(cdap, Home(home), target=target) as driver:
        screen = await opened(driver)
        assert screen.recipe.directives == ["trim :customer"]


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
