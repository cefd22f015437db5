"""Conditions: which are read, and what is wrong with the others."""

from __future__ import annotations

import pytest
from core_plugins.aggregators.conditions import ConditionError, UnknownFieldError, compile_condition

from localcdap.api import Schema
from tests.plugins.transform.support import record

SCHEMA = record(
    city=Schema.STRING.as_nullable,
    price=Schema.DOUBLE,
    n=Schema.INT,
    ok=Schema.BOOLEAN,
    order=Schema.STRING,
    day=Schema.DATE,
    tags=Schema.array(Schema.STRING),
    inner=record("inner", x=Schema.LONG),
)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("city.equals('LA')", {"city"}),
        ("!(city.equals('LA')) && price > 2.5f", {"city", "price"}),
        ("n eq 3 or not ok and n ne -4L", {"n", "ok"}),
        ("inner.x % 2 == 0", {"inner"}),
        ("order == \"it's\" || order == 'a\\'b'", {"order"}),
        ("city == null or null != day", {"city", "day"}),
        ("(n + 1) * 2 div 3 <= price / 4", {"n", "price"}),
        ("city.trim().toLowerCase().startsWith(order)", {"city", "order"}),
        ("n == '5'", {"n"}),
        ("ok", {"ok"}),
        ("true", set()),
        ("day == day", {"day"}),
        ("n lt 3", {"n"}),
    ],
)
def test_supported(text, fields):
    assert compile_condition(text, SCHEMA).fields == fields


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("city.matches('a.*')", "'matches' at position 6 is not supported with 1 arguments"),
        ("city =~ 'a'", "position 6"),
        ("ok ? 1 : 2", "'?' at position 4 of condition 'ok ? 1 : 2' is not supported."),
        ("price >", "Condition 'price >' is incomplete."),
        ("price + 1", "is of type number, not true or false"),
        ("city && ok", "Expected true or false at position 1, not a string"),
        ("tags == 1", "'==' at position 6 cannot compare a array with a integer."),
        ("ok < 5", "cannot compare a boolean with a integer"),
        ("city + 'x' == 'y'", "Expected a number at position 1, not a string"),
        ("n.length() == 3", "'length' at position 3 is not supported"),
        ("city.startsWith(5)", "needs a string"),
        ("", "is incomplete"),
    ],
)
def test_anything_else_is_refused_with_its_place(text, message):
    with pytest.raises(ConditionError) as error:
        compile_condition(text, SCHEMA)
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["nope == 1", "inner.y == 1", "city.x == 1"])
def test_unknown_fields(text):
    with pytest.raises(UnknownFieldError, match=r"Field \w+ not found in output schema\."):
        compile_condition(text, SCHEMA)
