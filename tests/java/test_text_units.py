"""Texts in UTF-16 units, beside the values of ``java.lang.String`` in Java 17."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.java.text_units import (
    compare_folded,
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


@pytest.mark.parametrize(
    ("one", "other", "compared"),
    [
        ("\xdf", "\U00010428", -55074),
        ("\U0001f600", "\u1f80", 120448),
        ("\U00010400", "a\U0001f600", 66503),
        ("\xdf", "SS", 108),
        ("\u017f", "\u03c2", -848),
        ("i", "\U00010400", -55192),
        ("\uffff", "\u0390", 64623),
        ("a", "\U0001f600", -55260),
        ("k", "a\U0001f600", 10),
        ("\u03c2", "\u03c2", 0),
        ("\U00010428", "\U0001f600", -61912),
        ("K", "\u03c2", -856),
        ("\uffff", "\u1f88", 57471),
        ("", "\u1f88", -1),
        ("\u03a3", "\u0130", 858),
        ("\u03c2", "K", 856),
        ("\U00010400", "\u03c2", 65637),
        ("\uffff", "\u01c5", 65081),
        ("\u0131", "\U00010400", -66495),
        ("\u1f88", "A", 7967),
        ("\u1f88", "\uffff", -57471),
        ("\u01c6", "\U00010400", -66146),
        ("\U00010400", "\u0130", 66495),
        ("\u0390", "\u1f88", -7152),
    ],
)
def test_texts_are_compared_without_case_as_in_java(one: str, other: str, compared: int):
    """The values are those of Java 17."""
    assert compare_folded(one, other) == compared
