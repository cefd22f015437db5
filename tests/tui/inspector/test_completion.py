from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.tui.inspector.properties.completion import complete_text, find_open_macro


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", None),
        ("path", None),
        ("$", None),
        ("${", 2),
        ("${pa", 2),
        ("${path}", None),
        ("${path}/${", 10),
        ("${a${b", 5),
        ("${a${b}", 2),
    ],
)
def test_where_a_macro_begins(text, start):
    assert find_open_macro(text, len(text)) == start


@pytest.mark.parametrize(
    ("text", "cursor", "chosen", "then", "place"),
    [
        ("${pa", 4, "path", "${path}", 7),
        ("/d/${pa}/x", 7, "path", "/d/${path}/x", 10),
        ("cs", 2, "csv", "csv", 3),
        ("${secure(${na", 13, "name", "${secure(${name}", 16),
    ],
)
def test_what_is_chosen_takes_the_place_of_what_was_typed(text, cursor, chosen, then, place):
    assert complete_text(text, cursor, chosen) == (then, place)


@given(st.text("${}ab", max_size=12), st.integers(0, 12))
def test_no_cursor_breaks_it(text, cursor):
    cursor = min(cursor, len(text))
    found, place = complete_text(text, cursor, "x")
    assert 0 <= place <= len(found)
