"""How counts, times, sizes and untrusted text are written, and how near names are found."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.text import (
    format_available,
    format_duration,
    format_size,
    nearest_name,
    nearest_names,
    plural,
    sanitize_for_terminal,
)

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (12_345, "12,345 runs")]
)
def test_a_count_has_its_noun(count, text):
    assert plural(count, "run") == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0.0 s"),
        (-5, "0.0 s"),
        (1_234, "1.2 s"),
        (200_000, "3 min 20 s"),
        (2 * HOUR, "2 h 0 min"),
        (2 * HOUR + 300_000, "2 h 5 min"),
    ],
)
def test_a_duration_is_formatted_in_its_two_largest_units(milliseconds, text):
    assert format_duration(1_000, 1_000 + milliseconds) == text


def test_a_duration_without_an_end_is_empty():
    assert format_duration(1_000, None) == ""
    assert format_duration(None, 1_000) == ""


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9_949, "9.9 kB"),
        (45_000_000, "45 MB"),
        (999_600, "1.0 MB"),
        (10**18, "1000000 TB"),
    ],
)
def test_a_size_is_formatted_in_decimal_units(number, text):
    assert format_size(number) == text


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("Hashr", "Hasher"), ("hasher", "Hasher"), ("GroupBy", "GroupByAggregate"), ("zzz", None)],
)
def test_the_nearest_name_is_the_one_that_was_meant(name, nearest):
    names = ["Hasher", "Joiner", "GroupByAggregate", "Wrangler"]

    assert nearest_name(name, names) == nearest


def test_near_names_are_limited_and_the_most_similar_comes_first():
    names = ["countries", "country", "county", "count", "other"]

    assert nearest_names("contry", names, limit=2)[0] == "country"
    assert len(nearest_names("contry", names, limit=2)) == 2
    assert nearest_names("contry", []) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("größe 日本 👨\u200d👩\u200d👧", "größe 日本 👨\u200d👩\u200d👧"),
        ("over\rwritten\x7f\0", "over\\rwritten\\x7f\\x00"),
        ("\ud800", "\\ud800"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2028b", "a\\u2028b"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("☀\ufe0f", "☀"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
    ],
)
def test_text_does_nothing_to_the_terminal(text, shown):
    assert sanitize_for_terminal(text) == shown


def test_a_single_line_has_no_line_ends_and_tabs():
    assert sanitize_for_terminal("a\r\nb\tc", single_line=True) == "a\\r\\nb\\tc"


@given(st.text())
def test_no_control_character_is_left(text):
    shown = sanitize_for_terminal(text, single_line=True)

    categories = {unicodedata.category(each) for each in shown if each not in "\u200c\u200d"}
    assert not categories & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_an_error_lists_few_names_or_the_most_similar_ones():
    assert format_available("x", []) == "none"
    assert format_available("x", ["b", "a"]) == "b, a"
    names = [f"table_{number}" for number in range(58)] + ["orders", "people"]
    assert format_available("ordres", names) == "orders and 59 more"
    assert format_available("zzz", names).endswith("table_9 and 50 more")
