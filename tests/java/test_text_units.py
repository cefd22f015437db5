"""Texts in UTF-16 units, beside the values of ``java.lang.String`` in Java 17."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.java.text_units import (
    compare_units,
    count_units,
    from_units,
    in_units,
    replace_halves,
    to_units,
)


@pytest.mark.parametrize(
    ("text", "length"),
    [("", 0), ("b", 1), ("é", 1), ("\uffff", 1), ("😀b", 3), ("a😀b😀", 6), ("👨‍👩", 5)],
)
def test_characters_beyond_the_basic_plane_count_twice(text, length):
    assert count_units(text) == len(to_units(text)) == length


@given(st.text())
def test_units_make_the_text_again(text):
    assert from_units(to_units(text)) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\ud83d", "?"),
        ("\ude00b", "?b"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "??"),
        ("😀", "😀"),
    ],
)
def test_halves_are_written_as_question_marks(text, written):
    assert replace_halves(text) == written


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [("😀", "\uffff", -10178), ("a", "b", -1), ("a", "", 1), ("😀b", "😀", 1), ("😀", "😁", -1)],
)
def test_texts_are_compared_by_their_units(one, other, difference):
    assert compare_units(one, other) == difference


def test_a_function_in_units_gets_and_gives_whole_characters():
    cut = in_units(lambda text, others, at: [text[at:], *others])

    assert cut("😀b", ["😀"], 2) == ["b", "😀"]
    assert cut("😀b", ["c"], 1) == ["\ude00b", "c"]
    assert cut("ab", ["c"], 1) == ["b", "c"]
