"""Read-only SQL from the command line; the process that asks is a client of the host."""

from __future__ import annotations

import json

import pytest


def test_a_query_is_read_from_stdin_and_more_rows_are_reported(command):
    code, out, err = command("sql", "-", "--limit", "2", input="SELECT range AS n FROM range(5)")
    assert code == 0
    assert out.split() == ["n", "0", "1"]
    assert "Only the first 2 rows are shown" in err


@pytest.mark.slow
def test_a_result_is_written_into_a_file(command, tmp_path):
    file = tmp_path / "out.csv"
    query = "SELECT range AS n, NULL AS nothing FROM range(3)"
    code, out, _ = command("sql", query, "--output", str(file))
    assert (code, out) == (0, f"3 rows in {file}\n")
    assert file.read_text() == "n,nothing\n0,\n1,\n2,\n"
    code, _, err = command("sql", query, "-o", str(tmp_path / "out.xml"))
    assert code == 2
    assert "'out.xml' does not end with .csv, .json, .parquet" in err
    code, out, err = command("sql", query, "-o", str(file), "--limit", "2", "--json")
    assert json.loads(out) == {"file": str(file), "rows": 2, "truncated": True}
    assert "found more rows than 2" in err


def test_values_are_plain_json(command):
    query = "SELECT DATE '2026-01-02' d, 1.50 AS money, NULL AS nothing, [1, 2] AS list, 'ä' AS t"
    code, out, _ = command("sql", query, "--json")
    assert code == 0
    assert json.loads(out) == {
        "columns": ["d", "money", "nothing", "list", "t"],
        "rows": [["2026-01-02", "1.50", None, [1, 2], "ä"]],
        "truncated": False,
    }


def test_what_is_wrong_is_reported(command):
    code, _, err = command("sql", "SELECT * FORM x")
    assert code == 2
    assert 'Line 1, column 15: syntax error at or near "x"' in err
    code, _, err = command("sql", "DROP TABLE x")
    assert code == 2
    assert "only queries can run here" in err
    code, _, err = command("sql", "SELECT 1", "--limit", "-1")
    assert code == 2
