"""The record of a failure: encoded where it is found, shown short and without secrets."""

from __future__ import annotations

import datetime
import decimal

from localcdap.api.record_json import encode_record, format_record
from localcdap.pipeline.macros.evaluation import Secrets


def show(record, hide=str):
    return format_record(encode_record(record), hide)


def test_a_record_is_shown_by_its_fields():
    record = {
        "id": 7,
        "name": None,
        "day": datetime.date(2026, 1, 2),
        "price": decimal.Decimal("1.50"),
    }

    assert show(record) == "{id: 7, name: None, day: '2026-01-02', price: '1.50'}"


def test_long_values_and_long_records_are_cut():
    shown = show({"note": "x" * 100, **{f"field{i}": i for i in range(100)}})

    assert shown.startswith("{note: '" + "x" * 58 + "…, field0: 0")
    assert len(shown) == 400
    assert show({"note": "x" * 10_000}) == "(its JSON has more than 8000 characters)"


def test_what_is_no_record_is_shown_in_its_python_form():
    assert show(("file.csv", 3)) == "('file.csv', 3)"
    assert show({"value": object}) == "{value: \"<class 'object'>\"}"


def test_secrets_are_hidden_before_values_are_cut():
    key = "-----BEGIN KEY-----\nä" + "k" * 200
    secrets = Secrets(lambda _: key)
    assert secrets.source is not None
    secrets.source("key")

    shown = show({"key": key, "nested": [f"a {key}"], "id": 1}, secrets.hide)

    assert shown == "{key: '********', nested: ['a ********'], id: 1}"
