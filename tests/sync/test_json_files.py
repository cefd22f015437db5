"""Canonical JSON, names of files, and lines of errors."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import DocumentError
from localcdap.sync.file_names import choose_path, escape_name, fold_path
from localcdap.sync.json_files import find_line, format_document, is_canonical, read_object

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS, JSON, max_size=4))
def test_a_document_comes_back_from_its_canonical_text(document):
    text = format_document(document)

    read = read_object(text, "x.json")
    assert json.dumps(read, sort_keys=True) == json.dumps(document, sort_keys=True)
    assert format_document(read) == text
    assert is_canonical(text, read)
    assert is_canonical(text.replace("\n", "\r\n"), read)


def test_the_order_of_keys_makes_no_difference():
    assert format_document({"b": 1, "a": [2, 1]}) == format_document({"a": [2, 1], "b": 1})
    assert format_document({"ü": 1}) == '{\n  "ü": 1\n}\n'


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ('{\n  "a": 1,\n}', 3, "is not valid JSON"),
        ('{\n<<<<<<< HEAD\n  "a": 1\n=======\n  "a": 2\n>>>>>>> theirs\n}', 2, "a merge that Git"),
        ('{"a": {\n  "b": 1,\n  "b": 2\n}}', 3, "has the key 'b' twice"),
        ("[]", 1, "must hold a JSON object"),
        ("", 1, "is not valid JSON"),
    ],
)
def test_what_is_no_document_is_refused_with_its_line(text, line, part):
    with pytest.raises(DocumentError) as caught:
        read_object(text, "pipelines/x.json")

    assert caught.value.line == line
    assert part in caught.value.message
    assert "pipelines/x.json" in caught.value.message
    assert caught.value.corrective_action


def test_values_are_found_by_their_path():
    text = '{\n "a": {"x": 1},\n "stages": [\n  {"name": "s",\n   "x": 2}\n ]\n}'

    assert find_line(text, ["stages", "s", "x"]) == 5
    assert find_line(text, ["nowhere"]) == 1


@given(TEXTS)
def test_every_name_is_a_file_name_everywhere(name):
    escaped = escape_name(name)

    assert escaped
    assert len(escaped.encode()) <= 120
    assert not set(escaped) & set('/\\:*?"<>|\n\0')
    assert escaped[0] not in ". "
    assert escaped[-1] not in ". "
    assert unicodedata.is_normalized("NFC", escaped)


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("orders", "orders"),
        ("Umsätze 2026", "Umsätze 2026"),
        ("CON", "%43ON"),
        ("aux.json", "%61ux.json"),
        ("", "%00"),
    ],
)
def test_names_stay_readable(name, escaped):
    assert escape_name(name) == escaped


def test_names_that_differ_in_case_only_get_files_of_their_own():
    first = choose_path("drafts", ["Orders"], set())
    second = choose_path("drafts", ["orders"], {fold_path(first)})

    assert first == "drafts/Orders.json"
    assert second.startswith("drafts/orders~")
    assert fold_path(first) != fold_path(second)


def test_long_names_differ_still():
    one, other = ("x" * 300 + end for end in "ab")

    assert escape_name(one) != escape_name(other)
