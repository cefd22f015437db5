"""Records, and rules of every kind about one record, whose violations are known."""

from __future__ import annotations

import datetime
from decimal import Decimal

from localcdap.api.schema import LogicalType, Schema

NAN = float("nan")


def _nullable(type) -> Schema:
    return (type if isinstance(type, Schema) else Schema.of(type)).as_nullable


SCHEMA = Schema.record(
    "people",
    [
        ("id", Schema.LONG.as_nullable),
        ("e mail", Schema.STRING.as_nullable),
        ("age", Schema.INT.as_nullable),
        ("score", Schema.DOUBLE.as_nullable),
        ("paid", Schema.decimal(8, 2).as_nullable),
        ("born", _nullable(LogicalType.DATE)),
        ("seen", _nullable(LogicalType.TIMESTAMP_MICROS)),
        ("is_old", Schema.BOOLEAN.as_nullable),
    ],
)


def _at(hour: int) -> datetime.datetime:
    return datetime.datetime(2026, 11, 1, hour, tzinfo=datetime.UTC)


RECORDS = [
    dict(zip(SCHEMA.field_names, values, strict=True))
    for values in (
        (1, "ada@example.com", 36, 1.5, Decimal("1.00"), datetime.date(1990, 1, 1), _at(1), True),
        (2, "bob", 17, NAN, Decimal("99.99"), datetime.date(2020, 2, 2), _at(9), False),
        (2, None, None, None, None, None, None, None),
        (3, "x\ny@z", -1, -0.5, Decimal("100.00"), datetime.date(1800, 1, 1), _at(23), False),
        (
            None,
            "é@example.com",
            200,
            10.0,
            Decimal("-3.10"),
            datetime.date(1999, 12, 31),
            _at(5),
            True,
        ),
        (None, "", 18, 10.5, Decimal("0.00"), datetime.date(2001, 1, 1), _at(8), False),
    )
]
RULES: list[tuple[dict, int]] = [
    ({"rule": "not-null", "column": "e mail"}, 1),
    ({"rule": "unique", "columns": ["id"]}, 1),
    ({"rule": "unique", "columns": ["id", "age"]}, 0),
    ({"rule": "range", "column": "age", "min": 0, "max": 120}, 2),
    ({"rule": "range", "column": "age", "min": 17.5}, 2),
    ({"rule": "range", "column": "score", "max": 10}, 2),
    ({"rule": "range", "column": "score", "min": -0.5}, 1),
    ({"rule": "range", "column": "paid", "min": 0, "max": 99.99}, 2),
    ({"rule": "range", "column": "born", "min": "1900-01-01", "max": "2019-12-31"}, 2),
    ({"rule": "range", "column": "seen", "max": "2026-11-01T08:00:00"}, 2),
    ({"rule": "range", "column": "seen", "max": "2026-11-01T10:00:00+02:00", "name": "zone"}, 2),
    ({"rule": "range", "column": "e mail", "min": "a", "max": "z"}, 2),
    ({"rule": "regex", "column": "e mail", "pattern": "[^@]+@.+"}, 2),
    ({"rule": "regex", "column": "e mail", "pattern": ".*|x"}, 1),
    ({"rule": "in-set", "column": "age", "values": [17, 36, 18]}, 2),
    ({"rule": "in-set", "column": "e mail", "values": ["bob", "", "é@example.com"]}, 2),
    ({"rule": "in-set", "column": "paid", "values": [1, 99.99, 0]}, 2),
    ({"rule": "in-set", "column": "is_old", "values": [True]}, 3),
    ({"rule": "in-set", "column": "born", "values": ["1990-01-01"]}, 4),
    ({"rule": "row", "condition": "age >= 18"}, 3),
    ({"rule": "row", "condition": "is_old"}, 4),
    ({"rule": "row", "condition": "size(id.toString()) > 0 && age != 17", "name": "in Python"}, 3),
    ({"rule": "row-count", "min": 6}, 0),
    ({"rule": "row-count", "max": 5}, 1),
]
"""Rules, and how many of the records violate each."""
