"""What the samples of plugins have in common."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from localcdap.api.schema import Schema

WIDE = Schema.record(
    "wide",
    [
        ("id", Schema.INT),
        ("big", Schema.LONG.as_nullable),
        ("ratio", Schema.FLOAT.as_nullable),
        ("price", Schema.DOUBLE),
        ("name", Schema.STRING.as_nullable),
        ("flag", Schema.BOOLEAN),
        ("raw", Schema.BYTES.as_nullable),
        ("day", Schema.DATE.as_nullable),
        ("at", Schema.TIMESTAMP.as_nullable),
        ("amount", Schema.decimal(10, 2).as_nullable),
        ("either", Schema.union([Schema.STRING, Schema.INT])),
    ],
)
RECORDS: list[dict[str, Any]] = [
    {
        "id": 1,
        "big": 2**40,
        "ratio": 0.5,
        "price": 1.25,
        "name": "ann",
        "flag": True,
        "raw": b"\x00\x01",
        "day": datetime.date(2026, 1, 2),
        "at": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
        "amount": decimal.Decimal("12.50"),
        "either": "x",
    },
    {"id": 2, "price": 2.5, "flag": False, "either": 7},
]
TEXT = Schema.record("text", [("body", Schema.STRING)])
ONE_NULLABLE = json.dumps(Schema.record("one", [("a", Schema.STRING.as_nullable)]).to_json())
ONE_TEXT = json.dumps(TEXT.to_json())
ONE_BYTES = json.dumps(Schema.record("text", [("body", Schema.BYTES)]).to_json())


class Sample(msgspec.Struct):
    """A configuration of a plugin, with what it reads."""

    properties: dict[str, str]
    inputs: Mapping[str, tuple[Schema, list[dict[str, Any]]]] = {}
    files: dict[str, str] = {}
    """Text by name of a file in the instance's folder."""
    partition: Callable[[Path], object] | None = None
    """Writes a file of the latest partition of file set 't'."""
    arguments: dict[str, str] = {}
