"""Settings, artifacts, pipelines, schedules and connections of an instance that an earlier version made.

Each test is about one feature, and a later version adds to it what it changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from localcdap.files.formats import FORMER_JSON
from localcdap.home import Home
from localcdap.host.cdap import Cdap
from localcdap.tui.machine import read_user_state
from localcdap.tui.routes import PrepTarget
from tests.e2e.old_instance.conftest import ARCHIVE, MADE_AT, Ask
from tests.tui.screens.prep.test_screen import opened
from tests.tui.studio_driver import studio

READING_SCHEMA = [
    {"name": "body_1", "type": "int"},
    {"name": "body_2", "type": "string"},
    {"name": "body_3", "type": ["double", "null"]},
    {"name": "body_4", "type": "boolean"},
]


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
