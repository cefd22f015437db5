"""Rules in runs: violations, their trend, and what runs keep of what they have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, schema, write
from tests.e2e.program import Program

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("hosted")]


def test_violations_and_their_trend(program: Program, tmp_path: Path):
    source, out = tmp_path / "in.csv", tmp_path / "out-${n}"
    row = schema(id="int", name=["string", "null"])
    stages = [csv_source("In", source, row), json_sink("Out", out)]
    stages[0]["expectations"] = [
        {"rule": "not-null", "column": "name"},
        {"rule": "range", "column": "id", "min": 1, "action": "error"},
    ]
    stages[1]["expectations"] = [{"rule": "row-count", "min": 2, "action": "fail"}]
    file = write(pipeline(stages, ("In", "Out")), tmp_path / "p.json")

    checked = program("validate", file)
    assert checked.code == 0
    assert "no stage reads the error records" in checked.out + checked.err
    source.write_text("1,ann\n2,bob\n0,eve\n4,dan\n")
    run = program("run", file, "-a", "n=1", "--json").json
    assert run["stages"]["In"] == {"in": 0, "out": 3, "errors": 1}
    assert [(r["label"], r["checked"], r["violations"]) for r in run["expectations"]] == [
        ("name is not null", 4, 0),
        ("id is at least 1", 4, 1),
        ("at least 2 rows", 1, 0),
    ]
    assert [r["id"] for r in json_records(tmp_path / "out-1")] == [1, 2, 4]

    source.write_text("1,\n0,eve\n")
    run_again = program("run", file, "-a", "n=2")
    assert run_again.code == 1
    assert "✗ In: name is not null: 50 % (1 of 2)" in run_again.out
    assert "nulls of name rose from 0 % to 50 %" in run_again.out
    assert "Stage 'Out': expected at least 2 rows, found 1." in run_again.out
    assert not (tmp_path / "out-2").exists()

    trend = program("expectations", file)
    assert "0 %  50 %  nulls of name rose from 0 % to 50 %" in trend.out
    assert "3  1  rows fell from 3 to 1" in trend.out
    answer = program("runs", "show", run["run"], "--columns", "--json").json
    (profile,) = answer["profiles"]
    assert (profile["stage"], profile["rows"], profile["sampled"]) == ("Out", 3, 3)
    assert profile["columns"][0] == {
        "name": "id",
        "type": "int",
        "nulls": 0,
        "distinct": 3,
        "lowest": "1",
        "highest": "4",
    }
