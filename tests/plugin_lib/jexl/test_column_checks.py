"""Expressions over known columns: names without a column, and methods that the values lack."""

from __future__ import annotations

import pytest

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl import EvaluationError, parse

TEXT = Schema.STRING.as_nullable
COLUMNS = Columns(
    [
        ("country", TEXT),
        ("age", Schema.INT),
        ("address", Schema.record("address", [("city", TEXT)])),
        ("a.b", TEXT),
        ("list", Schema.array(TEXT)),
        ("untyped", None),
    ]
)
ROW = {
    "country": "US",
    "age": 7,
    "address": {"city": "Rome"},
    "a.b": "x",
    "list": [],
    "untyped": "y",
}


def find(text: str, *variables: str) -> list[tuple[str, int, str | None, bool]]:
    found = parse(text).check_columns(COLUMNS, variables)
    return [(p.message, p.column, p.hint, p.is_warning) for p in found]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("contry == null", 1),
        ("age > 1 && contry == 'x'", 12),
        ("age > 1 ? contry.trim() : ''", 11),
        ("contry ?: 'none'", 1),
        ("contry?.trim()", 1),
        ("empty(contry)", 7),
        ("string:upperCase(contry)", 18),
        ("this.contry", 1),
        ("this['contry']", 6),
        ("this.getValue('contry')", 15),
        ("[contry, 1]", 2),
        ("x = 1; y = contry; x", 12),
    ],
)
def test_a_name_whose_null_the_expression_takes_is_a_warning(text, column):
    reported = ("There is no column 'contry'", column, "Did you mean 'country'?", True)
    assert find(text) == [reported]
    parse(text).compile()(ROW)


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("contry + 1", "+"),
        ("'a' + contry", "+"),
        ("-contry", "-"),
        ("!contry", "!"),
        ("contry || age > 1", "||"),
        ("contry.trim()", "trim"),
        ("(contry).trim() == 'x'", "trim"),
        ("string:upperCase(contry + 'x')", "+"),
    ],
)
def test_a_name_without_which_every_row_fails_is_an_error(text, operation):
    ((message, _, hint, is_warning),) = find(text)
    assert message == f"There is no column 'contry', and '{operation}' fails without a value"
    assert (hint, is_warning) == ("Did you mean 'country'?", False)
    with pytest.raises(EvaluationError):
        parse(text).compile()(ROW)


@pytest.mark.parametrize(
    "text",
    [
        "country == null",
        "COUNTRY + AGE",
        "v + 1",
        "x = 1; x + age",
        "var x = country; x.trim()",
        "for (part : country.split(',')) { part }",
        "a.b + address.city + address['city']",
        "this.country + this['age'] + ctx.name",
        "this.width()",
        "untyped.trim() + untyped.getYear()",
        "untyped.member.deeper",
        "country.empty",
    ],
)
def test_names_that_can_have_values_are_right(text):
    assert find(text, "v") == []


@pytest.mark.parametrize(
    ("text", "message", "hint", "is_warning"),
    [
        (
            "country.getYear()",
            "Values of the type string have no method 'getYear'",
            "Did you mean 'getBytes'?",
            False,
        ),
        ("age.trim()", "Values of the type int have no method 'trim'", None, False),
        (
            "country == null ? '' : country.getYear()",
            "Values of the type string have no method 'getYear'",
            "Did you mean 'getBytes'?",
            True,
        ),
        ("address.indexOf('x', 1)", "Values of the type record have no method", None, False),
        (
            "list.indexOf('x', 1)",
            "'indexOf' of the type array does not take 2 arguments",
            None,
            False,
        ),
        ("address.citi", "The record has no field 'citi'", "Did you mean 'city'?", True),
        ("address['citi']", "The record has no field 'citi'", "Did you mean 'city'?", True),
    ],
)
def test_what_values_of_a_known_type_lack(text, message, hint, is_warning):
    ((found, _, suggested, is_weak),) = find(text)
    assert found.startswith(message)
    assert is_weak == is_warning
    assert suggested == hint or hint is None


def test_columns_that_only_the_data_know_are_not_missing():
    known = Columns([("country", TEXT)], open=True)
    assert parse("contry + 1").check_columns(known) == []
    (problem,) = parse("contry + country.getYear()").check_columns(known)
    assert "getYear" in problem.message


def test_a_name_is_reported_once():
    assert len(find("contry == 'a' || contry == 'b' || contry == 'c'")) == 1


def test_each_name_is_an_error_where_names_must_exist():
    (problem,) = parse("contry == null").check_columns(COLUMNS, must_exist=True)
    assert (problem.message, problem.is_warning) == ("There is no column 'contry'", False)
    (problem,) = parse("age == 1 || contry == null").check_columns(COLUMNS, must_exist=True)
    assert problem.is_warning
