"""Runs of an instance that an earlier version made, those that it holds and new ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from localcdap.host.cdap import Cdap
from tests.e2e.old_instance.conftest import TIMES, Ask, check_tables, read_rows
from tests.e2e.program import wait_until


def test_runs_with_their_logs_and_metrics(ask: Ask, runs: dict[str, Any]):
    assert {name: each["status"] for name, each in runs.items()} == {
        name: "FAILED" if name == "broken" else "COMPLETED"
        for name in (
            "readings",
            "lines",
            "write_stamps",
            "read_stamps",
            "read_times",
            "orders",
            "report",
            "broken",
            "sap",
            "limits",
            "read_limits",
        )
    }
    assert runs["report"]["startMethod"] == "TRIGGERED"
    assert runs["orders"]["stages"]["Watch"] == {
        "in": 4,
        "out": 4,
        "errors": 0,
        "metrics": {"watched": 4},
        "alerts": 1,
    }
    assert runs["orders"]["stages"]["Tidy"] == {"in": 5, "out": 4, "errors": 1}
    log = ask("logs", runs["broken"]["run"])
    assert [each["level"] for each in log] == ["INFO", "INFO", "ERROR"]
    assert "ZeroDivisionError: division by zero" in log[-1]["text"]
    (reason,) = ask("runs", "classify", runs["broken"]["run"])
    assert (reason["stageName"], reason["errorReason"]) == ("Divide", "a value does not fit")


def test_expectations_and_alerts(ask: Ask, runs: dict[str, Any]):
    found = {each["label"]: each for each in runs["orders"]["expectations"]}
    assert {name: (each["checked"], each["violations"]) for name, each in found.items()} == {
        "price is plausible": (4, 1),
        "customer is not null": (4, 0),
        "at least 1 rows": (1, 0),
    }


def test_messages_of_topics(cdap: Cdap):
    messages = cdap.messaging.fetch("default", "alarms", 0)

    assert [each.payload for each in messages[:2]] == [
        {"stageName": "Watch", "payload": {"id": "5", "quantity": "300"}}
    ] * 2


@pytest.mark.spark
def test_pipeline_tests(ask: Ask, home: Path):
    (result,) = ask("test", str(home / "tests"))["tests"]

    assert (result["test"], result["outcome"]) == ("readings", "passed")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("pipeline", "stage", "counts"),
    [
        ("readings", "Table", {"in": 3, "out": 0, "errors": 0}),
        ("lines", "Json", {"in": 4, "out": 0, "errors": 0}),
        ("read_stamps", "Table", {"in": 4, "out": 0, "errors": 0}),
        ("read_times", "Table", {"in": 4, "out": 0, "errors": 0}),
        ("limits", "Nothing", {"in": 4, "out": 0, "errors": 0}),
        ("read_limits", "Json", {"in": 1, "out": 0, "errors": 0}),
    ],
)
def test_pipelines_run(ask: Ask, pipeline: str, stage: str, counts: dict[str, int]):
    found = ask("run", pipeline)

    assert found["status"] == "COMPLETED"
    assert found["stages"][stage] == counts
    check_tables(ask)


def change_stage(
    home: Path, tmp_path: Path, pipeline: str, stage: str, plugin: str, **properties: str
) -> str:
    """Write a pipeline of the instance with another plugin, or other properties, in one stage."""
    document = json.loads((home / "pipelines" / f"{pipeline}.json").read_text())
    (changed,) = [each for each in document["config"]["stages"] if each["name"] == stage]
    changed["plugin"]["name"] = plugin
    changed["plugin"]["properties"] |= properties
    path = tmp_path / f"{pipeline}.json"
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.slow
@pytest.mark.spark
def test_timestamps_of_96_bits_are_read_beside_new_ones(ask: Ask, home: Path, tmp_path: Path):
    ask("run", change_stage(home, tmp_path, "write_stamps", "Parquet", "File", path="data/new"))
    (new,) = (home / "data" / "new").glob("*.parquet")
    column = pq.ParquetFile(new).schema.column(1)
    assert (column.physical_type, column.max_definition_level) == ("INT64", 0)
    copy = home / "data" / "stamps" / new.name
    copy.write_bytes(new.read_bytes())

    for pipeline in ("read_stamps", "read_times"):
        assert ask("run", pipeline)["stages"]["Table"]["in"] == 8
    copy.unlink()
    check_tables(ask)

    both = change_stage(
        home,
        tmp_path,
        "read_times",
        "Stamps",
        "TPFSParquet",
        name="stamps_by_time",
        duration="9999d",
    )
    assert ask("run", both)["stages"]["Table"]["in"] == 8
    check_tables(ask)
    query = 'SELECT id, "at", count(*) FROM stamps_by_time GROUP BY ALL ORDER BY id'
    rows = ask("sql", query)["rows"]
    assert rows == [[1 + i, f"{time}Z", 2] for i, time in enumerate(TIMES)]


@pytest.mark.spark
def test_a_pipeline_of_another_namespace_runs(ask: Ask):
    assert ask("run", "shouting", "-n", "team")["status"] == "COMPLETED"
    assert read_rows(ask, "items", "-n", "team") == [["BREAD", 4], ["CHEESE", 2]]


@pytest.mark.spark
def test_a_pipeline_runs_on_recordings(ask: Ask, home: Path):
    found = ask("run", str(home / "pipelines" / "sap.json"))

    assert found["status"] == "COMPLETED"
    assert (found["stages"]["New"]["out"], found["stages"]["Old"]["out"]) == (4, 5)


@pytest.mark.spark
def test_a_run_fails_as_it_did(ask: Ask, runs: dict[str, Any]):
    found = ask("run", "broken", code=1)

    assert found["status"] == "FAILED"
    assert found["error"]["message"] == runs["broken"]["error"]["message"]


@pytest.mark.slow
@pytest.mark.spark
def test_a_run_with_plugins_keys_and_schedules(ask: Ask, home: Path):
    before = read_rows(ask, "orders")
    known = {each["run"] for each in ask("runs")}

    found = ask("run", "orders")
    assert found["stages"]["Seal"] == {"in": 4, "out": 4, "errors": 0}
    assert read_rows(ask, "orders") == before
    rejects = [file.read_text() for file in home.glob("data/rejects/*/part-*.json")]
    assert len(rejects) >= 3
    assert {json.loads(text)["day"] for text in rejects} == {"2026-02-02"}
    assert len(set(rejects)) == 1
    (chained,) = wait_until(
        lambda: [
            each
            for each in ask("runs", "report")
            if each["run"] not in known and each["status"] == "COMPLETED"
        ],
        "the run that the schedule starts",
    )
    assert chained["startMethod"] == "TRIGGERED"
    (file,) = [each for each in Path(chained["written"][0]).glob("part-*") if home in each.parents]
    assert sorted(file.read_text().splitlines()) == [
        "London,2,1.6",
        "Rome,2,23.25",
        "city,orders,spent",
    ]
