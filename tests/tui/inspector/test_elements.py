"""Lists as tables: what is read is written again, and what cannot be a table stays text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.config import PluginProperty
from localcdap.tui.inspector.properties.field_plan import (
    ElementForm,
    find_element_form,
    format_rows,
    get_max_elements,
    parse_rows,
)

PAIRS = ElementForm("{input-field}:{type},")
AGGREGATES = ElementForm("{name}:{function:sum|avg}({input-field}),")
words = st.text("abcXYZ_1-. é", min_size=1, max_size=6).map(str.strip).filter(bool)


def declared(type="string", **more):
    return PluginProperty("p", "", type, required=False, macro_supported=False, **more)


@pytest.mark.parametrize(
    ("form", "text", "rows"),
    [
        (PAIRS, "", []),
        (PAIRS, "a:int", [("a", "int")]),
        (PAIRS, "a:int, b : long", [("a", "int"), ("b", "long")]),
        (PAIRS, "a:b:c", [("a", "b:c")]),
        (AGGREGATES, "n:sum(x),m:avg(y)", [("n", "sum", "x"), ("m", "avg", "y")]),
        (AGGREGATES, "n:count(*)", [("n", "count", "*")]),
    ],
)
def test_a_list_is_read(form, text, rows):
    assert parse_rows(form, text) == rows


@pytest.mark.parametrize("text", ["a", "a:int,b", "a:int,${more}", "a:", ",".join(["a:b"] * 61)])
def test_what_is_no_table_is_none(text):
    assert parse_rows(PAIRS, text) is None


def test_one_element_may_hold_commas_where_there_is_only_one():
    form = find_element_form(declared(form="{field}:{function}"))
    assert get_max_elements(declared(), form) == 1
    assert parse_rows(form, "a,b:max", 1) == [("a,b", "max")]


def test_forms_of_declared_properties():
    assert find_element_form(declared()) is None
    assert find_element_form(declared("list")).parts[0].kind == "value"
    assert find_element_form(declared("list", choices=["A", "B"])).parts[0].choices == ("A", "B")
    assert get_max_elements(declared("list"), find_element_form(declared("list"))) is None
    assert AGGREGATES.parts[1].choices == ("sum", "avg")
    assert [part.heading for part in PAIRS.parts] == ["input field", "type"]


@given(st.lists(st.tuples(words, words)))
def test_rows_survive(rows):
    rows = [row for row in rows if ":" not in row[0]]
    assert parse_rows(PAIRS, format_rows(PAIRS, rows)) == rows


@given(st.text("ab:,( )$*é\n", max_size=30))
def test_a_text_that_is_a_table_is_the_same_text_but_for_spaces(text):
    for form in (PAIRS, AGGREGATES, ElementForm("{value}")):
        rows = parse_rows(form, text)
        if rows is not None:
            written = format_rows(form, rows)
            assert parse_rows(form, written) == rows
            bare = "".join(text.split()).strip(",")
            assert "".join(written.split()) == bare
