"""Reading rules: what they are in a document, and every way in which they can be wrong."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.expectations.rules import RuleAction, parse_rules, read_rules, to_json
from localcdap.expectations.schema_checks import find_schema_problems
from localcdap.plugin_lib.jexl.row_conditions import find_condition_problems
from tests.expectations.checked_records import RULES, SCHEMA


def test_rules_are_written_as_they_were_read():
    nodes = [dict(node, action="count") for node, _ in RULES]
    nodes[0] |= {"action": "fail", "allowedPercent": 2.5}

    rules = parse_rules(json.dumps(nodes))

    assert rules[0].action is RuleAction.FAIL
    assert parse_rules(json.dumps({"expectations": to_json(rules)})) == rules
    assert to_json(rules[1:2]) == [{"rule": "unique", "columns": ("id",)}]


@pytest.mark.parametrize(
    ("node", "message", "action"),
    [
        ({"rule": "uniqe", "columns": ["a"]}, "there is no rule 'uniqe'", "'unique'"),
        ({"column": "a"}, "'rule' must say", "not-null"),
        ({"rule": "not-null"}, "'column' is missing", "column"),
        ({"rule": "not-null", "colum": "a"}, "has no 'colum'", "'column'"),
        ({"rule": "not-null", "column": "a", "action": "stop"}, "'action'", "count, fail, error"),
        ({"rule": "not-null", "column": 5}, "'column': Expected `str`", "Correct"),
        ({"rule": "range", "column": "a"}, "neither 'min' nor 'max'", "Give one"),
        ({"rule": "range", "column": "a", "min": 5, "max": 1}, "greater than", "Exchange"),
        ({"rule": "range", "column": "a", "min": 5, "max": "x"}, "different types", "numbers"),
        ({"rule": "regex", "column": "a", "pattern": "("}, "regular expression", "pattern"),
        ({"rule": "in-set", "column": "a", "values": []}, "'values' is empty", "List"),
        ({"rule": "unique", "columns": []}, "'columns' is empty", "Name"),
        ({"rule": "row", "condition": " "}, "'condition' is empty", "Write"),
        ({"rule": "row-count", "min": 1, "action": "error"}, "no records to send", "fail"),
        ({"rule": "not-null", "column": "a", "allowedPercent": 5}, "needs the action", "action"),
        (
            {"rule": "not-null", "column": "a", "action": "fail", "allowedPercent": 101},
            "not from 0 to 100",
            "Correct",
        ),
        ("not-null", "must be an object", "Write"),
    ],
)
def test_a_wrong_rule_is_explained(node, message, action):
    rules, (problem,) = read_rules([node])

    assert rules == []
    assert problem.message.startswith("Expectation 1: ")
    assert message in problem.message
    assert action in problem.action


def test_all_problems_are_reported_at_once():
    same = {"rule": "not-null", "column": "a"}
    rules, problems = read_rules([same, {"rule": "x"}, same, {"rule": "unique"}])

    assert len(rules) == 1
    assert [p.message.split(":")[0] for p in problems] == [
        "Expectation 2",
        "Expectation 3",
        "Expectation 4",
    ]
    with pytest.raises(BadRequestError, match="another one 'a is not null'"):
        parse_rules(json.dumps([same, same]))
    with pytest.raises(BadRequestError, match="not JSON"):
        parse_rules("[")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
KEYS = st.sampled_from(["column", "columns", "min", "max", "values", "pattern", "action", "name"])
KINDS = st.sampled_from([node["rule"] for node, _ in RULES])


@given(
    st.lists(st.builds(lambda r, d: {"rule": r, **d}, KINDS, st.dictionaries(KEYS, JSON)) | JSON)
)
def test_anything_is_read_or_explained(nodes):
    rules, problems = read_rules(nodes)

    assert len(rules) + len(problems) == len(nodes)


@pytest.mark.parametrize(
    ("node", "message", "action"),
    [
        ({"rule": "not-null", "column": "emial"}, "no column 'emial'", "'email'"),
        ({"rule": "range", "column": "age", "min": "a"}, "a number is expected", "type"),
        ({"rule": "range", "column": "paid", "min": "a"}, "a number is expected", "type"),
        ({"rule": "range", "column": "born", "max": "soon"}, "a date such as", "Correct"),
        ({"rule": "in-set", "column": "email", "values": ["a", 1]}, "a text is expected", "type"),
        ({"rule": "regex", "column": "age", "pattern": "1"}, "only texts match", "range"),
        ({"rule": "unique", "columns": ["tags", "idd"]}, "no column 'idd'", "id"),
        ({"rule": "unique", "columns": ["tags"]}, "is not compared", "simple"),
        ({"rule": "range", "column": "tags", "min": 1}, "is not compared", "row"),
        ({"rule": "row", "condition": "agee > 1"}, "no column 'agee'", "Correct"),
        ({"rule": "row", "condition": "age +"}, "ends too early", "Correct"),
        ({"rule": "row", "condition": "age + 1"}, "neither true nor false", "Correct"),
    ],
)
def test_a_rule_that_does_not_suit_the_schema_is_explained(node, message, action):
    fields = [(f.name, f.schema) for f in SCHEMA]
    fields += [("email", Schema.STRING), ("tags", Schema.array(Schema.STRING))]
    (rule,), problems = read_rules([node])
    assert problems == []

    (problem,) = find_schema_problems(rule, Schema.record("r", fields), find_condition_problems)
    assert message in problem.message
    assert action in problem.action
