from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.datasets.sql import SqlTable
from localcdap.store.query import QueryColumn
from localcdap.tui.screens.tables.editor import (
    find_completions,
    find_statement,
    parse_typed_word,
    quote_where_needed,
)


def table(schema: str, name: str, /, **columns: str) -> SqlTable:
    return SqlTable(schema, name, [QueryColumn(*each) for each in columns.items()], [], 0)


TABLES = [
    table("default", "spending", city="VARCHAR", spent="DOUBLE"),
    table("default", "Order Lines", id="BIGINT"),
    table("team", "people", name="VARCHAR"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1|", "SELECT 1"),
        ("SELECT 1;\nSELECT |2", "\nSELECT 2"),
        ("SELECT| 1;\nSELECT 2", "SELECT 1"),
        ("SELECT 1;|", "SELECT 1"),
        ("SELECT 1;\n\n|", "SELECT 1"),
        ("SELECT ';|' ; SELECT 2", "SELECT ';' "),
        ("SELECT 1 -- a; b|\n; SELECT 2", "SELECT 1 -- a; b\n"),
        ("SELECT /* ; */ 1; S|", " S"),
        ('SELECT ";"|', 'SELECT ";"'),
        ("SELECT $$;$$|; x", "SELECT $$;$$"),
        ("|", ""),
        (" ; |", ""),
    ],
)
def test_the_statement_at_the_cursor(text: str, expected: str):
    assert find_statement(text.replace("|", ""), text.index("|")) == expected


@given(st.text("SELECT';\"-/*$ \n"), st.integers(0, 50))
def test_any_text_has_a_statement_or_none(text: str, offset: int):
    assert find_statement(text, min(offset, len(text))) in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ci", (None, "ci")),
        ("SELECT t.ci", ("t", "ci")),
        ('SELECT "a b".', ("a b", "")),
        ("SELECT 'in a te", None),
        ("SELECT 1 -- comm", None),
        ("SELECT 'a' || ci", (None, "ci")),
        ("/* open", None),
    ],
)
def test_what_is_typed(text: str, expected: object):
    assert parse_typed_word(text) == expected


def complete(text: str, rest: str = "") -> list[str]:
    return [each.text for each in find_completions(text, rest, TABLES, "default")[1]]


def test_columns_of_mentioned_tables_come_first():
    assert complete("SELECT sp", " FROM spending")[:2] == ["spent", "spending"]
    assert complete("FROM spending WHERE c")[0] == "city"


def test_names_of_tables_are_completed_with_quotes_where_needed():
    assert complete("FROM or")[0] == '"Order Lines"'
    assert complete("FROM te") == ["team.people", "team"]
    assert complete("FROM team.") == ["people"]


def test_columns_follow_the_dot_of_a_table_or_its_alias():
    assert complete("SELECT s.", " FROM spending s") == ["city", "spent"]
    assert complete("SELECT spending.sp", " FROM spending") == ["spent"]
    assert complete("SELECT nobody.sp") == []


def test_an_empty_word_has_no_completions():
    assert complete("SELECT ") == []
    assert complete("SELECT 'ci") == []
    assert complete("SELECT") == []


@pytest.mark.parametrize(
    ("name", "written"),
    [("plain", "plain"), ("Upper", '"Upper"'), ("default", '"default"'), ('a"b', '"a""b"')],
)
def test_names_are_quoted_where_they_must_be(name: str, written: str):
    assert quote_where_needed(name) == written
