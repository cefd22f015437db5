"""Scripts that look values up in tables: JavaScript, Script and PythonEvaluator."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import pytest
from core_plugins.scripts import javascript_lookups
from core_plugins.scripts.javascript import JavaScript
from core_plugins.scripts.legacy_javascript import Script, ScriptFilter
from core_plugins.scripts.python_evaluator import PythonEvaluator
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.api import NotFoundError, Schema, StageError
from localcdap.testing import StageTester, TableData
from tests.plugins.transform.support import record

TEXT = Schema.STRING.as_nullable
IN, OUT = record(k=TEXT), record(v=TEXT)
MONEY = Schema.decimal(10, 2)

JOBS = TableData(
    record(key=Schema.STRING, value=TEXT),
    [
        {"key": "1", "value": "engineer"},
        {"key": "é𝄞", "value": "ä" * 9000 + "𝄞"},
        {"key": "", "value": ""},
        {"key": "none", "value": None},
        {"key": "__proto__", "value": "p"},
    ],
)
PEOPLE = TableData(
    record(
        name=TEXT,
        id=Schema.LONG,
        age=Schema.INT.as_nullable,
        big=Schema.LONG,
        share=Schema.DOUBLE.as_nullable,
        is_in=Schema.BOOLEAN.as_nullable,
        born=Schema.DATE.as_nullable,
        tags=Schema.array(Schema.STRING),
        raw=Schema.BYTES,
        pay=MONEY,
    ),
    [
        {
            "name": "Ada",
            "id": 7,
            "age": 36,
            "big": 2**60,
            "share": 0.5,
            "is_in": True,
            "born": datetime.date(1970, 1, 3),
            "tags": ["a", "é"],
            "raw": b"\xff\0",
            "pay": decimal.Decimal("2.50"),
        },
        {"name": None, "id": 8, "big": 1, "tags": [], "raw": b"", "pay": decimal.Decimal(0)},
    ],
    "id",
)
BYTES = TableData(record(k=Schema.BYTES, value=Schema.BYTES), [{"k": b"a", "value": b"\xe9 b"}])
VALUES = TableData(record(value=Schema.BYTES, key=Schema.INT), [{"key": 1, "value": b"\xc3\xa9"}])
TABLES = {"jobs": JOBS, "people": PEOPLE, "bytes": BYTES, "values": VALUES}
DECLARED = json.dumps({"tables": {name: {"type": "DATASET"} for name in TABLES}})


def javascript(expression: str, key: Any = None, lookup: str = DECLARED) -> str:
    """The JSON of the value of an expression."""
    script = (
        "function transform(input, emitter, context) { const at = name => context.getLookup(name); "
        f"emitter.emit({{v: JSON.stringify({expression})}}); }}"
    )
    properties = {"script": script, "schema": str(OUT), "lookup": lookup}
    (made,) = StageTester(JavaScript, properties, IN, tables=TABLES).run([{"k": key}]).records
    return made["v"]


def python(expression: str, key: Any = None, lookup: str = DECLARED) -> Any:
    """The text of the value of an expression."""
    script = (
        f"def transform(record, emitter, context):\n    at = context.getLookup\n"
        f"    emitter.emit({{'v': repr({expression})}})"
    )
    properties = {"script": script, "schema": str(OUT), "lookup": lookup}
    (made,) = StageTester(PythonEvaluator, properties, IN, tables=TABLES).run([{"k": key}]).records
    return made["v"]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("at('jobs').lookup('1')", "engineer"),
        ("at('jobs').lookup(1)", "engineer"),
        ("at('jobs').lookup('é𝄞')", "ä" * 9000 + "𝄞"),
        ("at('jobs').lookup('')", ""),
        ("at('jobs').lookup('none')", None),
        ("at('jobs').lookup('2')", None),
        ("at('jobs').lookup('1', '2', '')", {"1": "engineer", "": ""}),
        ("at('jobs').lookup(['1', '2', '__proto__'])['__proto__']", "p"),
        ("at('jobs').lookup([])", {}),
        ("at('people').lookup('8').name", None),
        ("at('bytes').lookup('a').value", [-23, 32, 98]),
        ("at('values').lookup('1')", "é"),
        ("[at('jobs').lookup(null), at('jobs').lookup(undefined)]", [None, None]),
        ("at('jobs').lookup('\\ud834')", None),
        ("at('jobs').lookup(new Set(['1']))", {"1": "engineer"}),
        ("input.k in at('jobs').lookup([input.k])", True),
        (
            "at('people').lookup('7')",
            {
                "name": "Ada",
                "age": 36,
                "big": 1152921504606847000,
                "share": 0.5,
                "is_in": True,
                "born": 2,
                "tags": ["a", "é"],
                "raw": [-1, 0],
                "pay": [0, -6],
            },
        ),
        ("Object.values(at('people').lookup(8)).slice(0, 5)", [None, None, 1, None, None]),
    ],
)
def test_javascript_finds_what_is_in_the_table(expression, found):
    assert json.loads(javascript(expression, "1")) == found


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("at('jobs').lookup(record['k'])", "'engineer'"),
        ("at('jobs').lookup(1)", "'engineer'"),
        ("at('jobs').lookup('2')", "None"),
        ("at('jobs').lookup(None)", "None"),
        ("at('jobs').lookup('1', 'none', '')", "{'1': 'engineer', '': ''}"),
        ("at('jobs').lookup(['1', 'x'])", "{'1': 'engineer'}"),
        ("at('values').lookup(1)", "'é'"),
        ("list(at('people').lookup('7'))[:3]", "['name', 'age', 'big']"),
        ("at('people').lookup(7)['born']", "datetime.date(1970, 1, 3)"),
        ("[at('people').lookup(7).clear(), at('people').lookup(7)['name']]", "[None, 'Ada']"),
    ],
)
def test_python_finds_what_is_in_the_table(expression, found):
    assert python(expression, "1") == found


def test_the_older_script_looks_up_too():
    script = "function transform(i, context) { return {v: context.getLookup('jobs').lookup(i.k)}; }"
    properties = {"script": script, "schema": str(OUT), "lookup": DECLARED}
    made = StageTester(Script, properties, IN, tables=TABLES).run([{"k": "1"}, {"k": None}])
    assert made.records == [{"v": "engineer"}, {"v": None}]


def test_a_filter_looks_up_too_and_changes_nothing():
    script = (
        "function shouldFilter(i, c) { i.k = i.k + ''; "
        "return c.getLookup('jobs').lookup(i.k) !== null; }"
    )
    stage = StageTester(ScriptFilter, {"script": script, "lookup": DECLARED}, IN, tables=TABLES)
    assert stage.run([{"k": "1"}, {"k": "2"}, {"k": None}]).records == [{"k": "2"}, {"k": None}]


@pytest.mark.parametrize(
    ("script", "reported"),
    [
        (
            "function transform(i, c) { return true; }",
            "define a function 'shouldFilter(input, context)'",
        ),
        ("function shouldFilter(", "Unexpected end of input"),
    ],
)
def test_the_script_of_a_filter_is_checked(script, reported):
    (problem,) = StageTester(ScriptFilter, {"script": script}, IN).problems
    assert reported in problem


def test_a_filter_must_say_yes_or_no():
    stage = StageTester(ScriptFilter, {"script": "function shouldFilter(i) { return 1; }"}, IN)
    with pytest.raises(StageError, match="must return true or false, not 1"):
        stage.run([{"k": "1"}])


@pytest.mark.parametrize(
    "lookup", ['{"jobs": {"type": "DATASET"}}', '{"tables": {"jobs": {"datasetProperties": {}}}}']
)
def test_the_property_may_have_the_form_of_older_manuals(lookup):
    assert json.loads(javascript("at('jobs').lookup('1')", lookup=lookup)) == "engineer"


@pytest.mark.parametrize("call", [javascript, python])
def test_a_table_that_is_not_declared_is_reported(call):
    with pytest.raises(StageError, match=r"table 'jobs' is not declared.*'lookup' \(line \d\)"):
        call("at('jobs')", lookup="")


@pytest.mark.parametrize(
    ("lookup", "reported"),
    [
        ("x", "lookup: Invalid lookup config."),
        ("[]", "lookup: Invalid lookup config."),
        ('{"tables": 1}', "lookup: Invalid lookup config."),
        ('{"tables": {"a": 1}}', "lookup: Invalid lookup config."),
        ('{"a": {"type": "CACHE"}}', "lookup: Lookup table 'a' has the unknown type 'CACHE'."),
        ('{"gone": {}}', "lookup: There is no table 'gone' to look values up in."),
        ('{"wide": {}}', "lookup: Table 'wide' has no key by which values could be looked up."),
    ],
)
@pytest.mark.parametrize("plugin", [JavaScript, PythonEvaluator])
def test_what_is_wrong_with_the_property_is_reported(plugin, lookup, reported):
    script = {
        JavaScript: "function transform(i, e, c) {}",
        PythonEvaluator: "def transform(record, emitter, context): pass",
    }[plugin]
    wide = TableData(record(a=TEXT, b=TEXT, c=TEXT), [])
    stage = StageTester(plugin, {"script": script, "lookup": lookup}, IN, tables={"wide": wide})
    assert stage.problems == [reported]


def test_tables_are_looked_at_in_connected_checks_only():
    properties = {"script": "function transform(i, e, c) {}", "lookup": '{"gone": {}}'}
    stage = StageTester(JavaScript, properties, IN)
    assert stage.problems == []
    with pytest.raises(NotFoundError, match="There is no table 'gone'"):
        stage.run([])


def test_tables_that_are_too_large_for_a_script_are_refused(monkeypatch):
    monkeypatch.setattr(javascript_lookups, "MAX_BYTES", 1000)
    with pytest.raises(StageError, match="lookup tables of the script have 0 MiB; the limit is 0"):
        javascript("1")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=4), max_size=20, unique=True))
def test_javascript_finds_the_keys_that_python_finds(keys):
    table = TableData(record(key=TEXT, value=TEXT), [{"key": k, "value": k[::-1]} for k in keys])
    script = (
        "function transform(i, e, c) { e.emit({v: c.getLookup('t').lookup(i.k)}); "
        "if (c.getLookup('t').lookup(i.k + 'x') !== null) throw 1; }"
    )
    properties = {"script": script, "schema": str(OUT), "lookup": '{"t": {}}'}
    asked = [k for k in keys if f"{k}x" not in keys]
    made = StageTester(JavaScript, properties, IN, tables={"t": table}).run(
        [{"k": k} for k in asked]
    )
    assert [each["v"] for each in made.records] == [k[::-1] for k in asked]
