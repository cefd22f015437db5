"""The first thing that a newcomer does."""

from __future__ import annotations

import pytest

from tests.e2e.pipelines import json_records
from tests.e2e.program import Program

pytestmark = pytest.mark.spark


def test_demo_counts_every_stage_writes_and_can_be_repeated(program: Program):
    answer = program("demo", "--json")

    run = answer.json
    assert answer.code == 0, answer.err
    assert run["status"] == "COMPLETED"
    assert run["stages"] == {
        "Purchases": {"in": 0, "out": 60, "errors": 0},
        "Customers": {"in": 0, "out": 7, "errors": 0},
        "Parse": {"in": 60, "out": 59, "errors": 1},
        "Malformed": {"in": 1, "out": 1, "errors": 0},
        "Amount": {"in": 59, "out": 58, "errors": 1},
        "Rejected": {"in": 1, "out": 0, "errors": 0},
        "By customer": {"in": 58, "out": 7, "errors": 0},
        "With city": {"in": 14, "out": 7, "errors": 0},
        "Spending table": {"in": 7, "out": 0, "errors": 0},
        "Spending file": {"in": 7, "out": 0, "errors": 0},
    }

    tables = program("tables", "--json").json
    spending = program("tables", "spending", "--json").json
    cities = program("sql", "SELECT city, count(*) FROM spending GROUP BY ALL ORDER BY 1", "--json")
    (rejected,) = json_records(program.home / "demo" / "out" / "rejected")
    assert [(table["name"], table["rows"]) for table in tables] == [("spending", 7)]
    assert spending["columns"] == ["customer", "name", "city", "purchases", "spent", "largest"]
    assert cities.json["columns"] == ["city", "count_star()"]
    assert sum(count for _, count in cities.json["rows"]) == 7
    assert rejected["body"] == 'ada,"cheese,7.9,2'
    assert rejected["code"] == 31
    assert rejected["stage"] == "Parse"

    again = program("demo")
    assert again.code == 0, again.err
    assert len(program("runs", "--json").json) == 2
    assert "Pipeline 'spending_by_customer' succeeded" in program("logs", "last").out
    assert program("tables", "--json").json[0]["rows"] == 7
