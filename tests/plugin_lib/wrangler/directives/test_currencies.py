"""Amounts of money, as the JDK reads and writes them."""

from __future__ import annotations

import pytest

from localcdap.plugin_lib.wrangler.directives.currencies import load_currency_format
from tests.plugin_lib.wrangler.directives.recipes import list_problems, run, run_failing

AMOUNTS = [
    ("$1.56", 1.56),
    ("$45.56", 45.56),
    ("$0.09", 0.09),
    ("$8,976.78", 8976.78),
    ("$1,234,678.67", 1234678.67),
]


@pytest.mark.parametrize(("text", "amount"), AMOUNTS)
def test_amounts_are_read_and_written(text, amount):
    recipe = """
        parse-as-currency :src :dst
        parse-as-currency :src :dst1 'en_US'
        format-as-currency :dst :fmt 'en_US'
    """

    assert run(recipe, {"src": text}) == [{"src": text, "dst": amount, "dst1": amount, "fmt": text}]


READ = [("-$2", -2.0), ("$5abc", 5.0), ("$1,2,3", 123.0), ("$.5", 0.5)]


@pytest.mark.parametrize(("text", "amount"), READ)
def test_amounts_are_read_as_far_as_they_go(text, amount):
    assert run("parse-as-currency :a :a", {"a": text}) == [{"a": amount}]


@pytest.mark.parametrize("text", ["1234.56", "($2)", "$ 5", "$", "€1", "x"])
def test_what_is_no_amount_goes_to_the_error_port(text):
    made = run_failing("parse-as-currency :a :b", {"a": text})

    assert (made.kind, made.code) == (2, 1)
    assert made.message == f'Unparseable number: "{text}" (ecode: 1, directive: parse-as-currency)'


@pytest.mark.parametrize("row", [{"a": None}, {"a": " "}, {"a": 5}, {"c": "$5"}])
def test_other_values_are_passed_over(row):
    assert run("parse-as-currency :a :b", row) == [row]


@pytest.mark.parametrize("row", [{"a": None}, {"a": "5.0"}, {"a": 5}, {"c": 5.0}])
def test_only_numbers_with_a_point_are_written(row):
    assert run("format-as-currency :a :b", row) == [row]


WRITTEN = [
    ("en_US", -1234678.675, "-$1,234,678.68"),
    ("de_DE", -1234678.675, "-1.234.678,68\u00a0€"),
    ("de_DE", 0.09, "0,09\u00a0€"),
    ("en_IE", 1234.56, "€1,234.56"),
    ("ja_JP", 1234678.675, "￥1,234,679"),
    ("fr_FR", 1234.5, "1\u202f234,50\u00a0€"),
    ("de_CH", -1.0, "CHF-1.00"),
    ("en", 1.0, "¤1.00"),
    ("en_US", 0.125, "$0.12"),
    ("en_US", 1.015, "$1.01"),
]


@pytest.mark.parametrize(("locale", "amount", "text"), WRITTEN)
def test_each_country_writes_its_way(locale, amount, text):
    assert run(f"format-as-currency :a :b '{locale}'", {"a": amount})[0]["b"] == text


def test_spaces_of_any_kind_are_read():
    read = load_currency_format("de_DE").parse

    assert read("1.234,56 €") == read("1.234,56\u00a0€") == 1234.56


@pytest.mark.parametrize("locale", ["klingon", "xx_XX", "en-US", ""])
def test_a_wrong_locale_is_reported_with_the_recipe(locale):
    assert "locale" in list_problems(f"format-as-currency :a :b '{locale}'")[0]
