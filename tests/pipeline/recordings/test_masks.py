"""Masked values keep their form, and equal ones stay equal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.pipeline.recordings.masks import find_personal_fields, mask_fields

SCHEMA = Schema.record(
    "row",
    [
        ("text", Schema.STRING.as_nullable),
        ("number", Schema.LONG.as_nullable),
        ("x", Schema.DOUBLE),
    ],
)


def mask(records, fields=("text", "number"), key="k"):
    return mask_fields(SCHEMA, records, fields, key)


def find_shape(text):
    """Signs as they are, and of letters and digits only their kind."""
    kinds = ((str.isdigit, "9"), (str.isupper, "A"), (str.islower, "a"))
    return "".join(next((kind for holds, kind in kinds if holds(c)), c) for c in text)


def test_the_form_stays_and_the_letters_and_digits_change():
    record = {"text": "Ada.Lovelace+1815@Example.com", "number": -1815, "x": 0.5}
    masked = mask([record])[0]
    assert masked["text"] != record["text"]
    assert (
        find_shape(masked["text"]) == find_shape(record["text"]) == "Aaa.Aaaaaaaa+9999@Aaaaaaa.aaa"
    )
    assert masked["number"] < 0
    assert masked["x"] == 0.5


@given(st.lists(st.text(), min_size=1), st.text())
def test_equal_values_stay_equal_in_every_recording_with_the_key(texts, key):
    first = mask([{"text": text} for text in texts], ["text"], key)
    again = mask([{"text": text} for text in reversed(texts)], ["text"], key)
    assert first == list(reversed(again))
    assert [len(each["text"]) for each in first] == [len(text) for text in texts]


@given(st.integers(-(10**15), 10**15))
def test_numbers_keep_their_length(number):
    assert len(str(mask([{"number": number}], ["number"])[0]["number"])) == len(str(number))


def test_nulls_stay_and_another_key_gives_other_values():
    records = [{"text": None, "number": 1234567}]
    assert mask(records)[0]["text"] is None
    assert mask(records) != mask(records, key="other")


def test_fields_about_persons_are_found():
    records = [{"email": f"ada{n}@example.com", "city": "Paris", "n": n} for n in range(9)]
    schema = Schema.record(
        "r", [("email", Schema.STRING), ("city", Schema.STRING), ("n", Schema.INT)]
    )
    assert find_personal_fields(schema, records) == {"email": "e-mail"}


@pytest.mark.parametrize(("field", "said"), [("gone", "no field"), ("x", "cannot be masked")])
def test_a_field_that_cannot_be_masked_is_an_error(field, said):
    with pytest.raises(BadRequestError, match=said):
        mask([], [field])
