"""Rules on batches in this process."""

from __future__ import annotations

import pytest

from localcdap.api.arrow import RecordCodec
from localcdap.api.schema import Schema
from localcdap.expectations.batches import BatchChecker
from localcdap.expectations.rules import read_rules
from localcdap.expectations.schema_checks import find_schema_problems
from localcdap.plugin_lib.jexl.row_conditions import create_row_test, find_condition_problems
from tests.expectations.checked_records import RECORDS, RULES, SCHEMA

TABLES = {("ages", "n"): [17, 36, None]}


def create_checker(*nodes):
    rules, problems = read_rules(list(nodes))
    assert problems == []
    return BatchChecker("s", rules, SCHEMA, create_row_test, lambda table, key: TABLES[table, key])


@pytest.mark.parametrize("size", [6, 1, 4])
def test_violations_are_counted_over_batches_of_any_size(size):
    batch = RecordCodec(SCHEMA).encode(RECORDS)
    checker = create_checker(*(node for node, _ in RULES))

    for start in range(0, len(RECORDS), size):
        checker.check(batch.slice(start, size))

    results = checker.get_results()
    assert {r.label: r.violations for r in results} == {
        r.label: expected for r, (_, expected) in zip(results, RULES, strict=True)
    }
    assert {r.checked for r in results if r.rows is None} == {6}


def test_every_rule_suits_its_schema():
    rules, _ = read_rules([node for node, _ in RULES])

    assert [find_schema_problems(rule, SCHEMA, find_condition_problems) for rule in rules] == [
        [] for _ in rules
    ]


def test_a_record_is_taken_out_for_its_first_rule():
    batch = RecordCodec(SCHEMA).encode(RECORDS)
    checker = create_checker(
        {"rule": "range", "column": "age", "min": 0},
        {"rule": "unique", "columns": ["id"], "action": "error"},
        {"rule": "range", "column": "age", "min": 0, "action": "error", "name": "again"},
        {"rule": "reference", "column": "age", "table": "ages", "key": "n", "action": "error"},
    )

    assert checker.check(batch) == [None, None, 1, 2, 3, 3]
    assert [r.violations for r in checker.get_results()] == [1, 1, 1, 3]


def test_nan_is_equal_to_nan_as_in_spark():
    schema = Schema.record("r", [("x", Schema.DOUBLE), ("y", Schema.INT)])
    rows = [{"x": float("nan"), "y": 1}, {"x": float("nan"), "y": 1}, {"x": 1.0, "y": 1}]
    rules, _ = read_rules(
        [
            {"rule": "unique", "columns": ["x", "y"]},
            {"rule": "reference", "column": "x", "table": "t", "key": "k"},
        ]
    )
    checker = BatchChecker("s", rules, schema, create_row_test, lambda _, __: [float("nan"), 1.0])
    checker.check(RecordCodec(schema).encode(rows))
    assert [r.violations for r in checker.get_results()] == [1, 0]
