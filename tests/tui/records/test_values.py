from __future__ import annotations

import csv
import datetime
import io
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.files.result_files import to_csv, to_json
from localcdap.tui.records.values import (
    escape_unprintable,
    format_cell,
    format_full,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "∅"),
        ("", '""'),
        ("a", "a"),
        (" a ", "·a·"),
        ("  ", "··"),
        ("a\nb\t", "a\\nb\\t"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\ud800", "\\ud800"),
        (True, "true"),
        (1.5, "1.5"),
        (1234567.125, "1234567.125"),
        (float("nan"), "NaN"),
        (b"\x00\x01", "AAE="),
        (Decimal("2.50"), "2.50"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        ([1, None], "[1, null]"),
        ({"a": "é"}, '{"a": "é"}'),
        ("x" * 500, "x" * 199 + "…"),
    ],
)
def test_a_cell(value, shown):
    assert format_cell(value) == shown


@given(st.text(st.characters(exclude_categories=[])))
def test_a_cell_is_one_printable_line(text):
    assert format_cell(text).isprintable()
    assert all(c.isprintable() or c in "\n\t" for c in escape_unprintable(text))


@given(st.lists(st.lists(st.none() | st.text(max_size=5), min_size=2, max_size=2), max_size=4))
def test_csv_distinguishes_null_from_empty_and_can_be_read_back(rows):
    rows = [
        [None if v is None else v.encode("utf-8", "replace").decode() for v in row] for row in rows
    ]
    text = to_csv(["a", "b"], rows)
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read[0] == ["a", "b"]
    assert read[1:] == [["" if v is None else v for v in row] for row in rows]
    assert to_csv(["a"], [[None], [""]]) == 'a\n""\n""\n'


def test_json_reads_back():
    rows = [[1, None], [float("inf"), [b"\x00"]]]
    assert json.loads(to_json(["a", "b"], rows)) == [
        {"a": 1, "b": None},
        {"a": "Infinity", "b": ["AA=="]},
    ]
    assert json.loads(to_json(["a"], [])) == []


def test_the_full_text_of_a_value():
    assert format_full('{"a": [1]}') == '{\n  "a": [\n    1\n  ]\n}'
    assert format_full("{no json") == "{no json"
    assert format_full({"a": 1}) == '{\n  "a": 1\n}'
