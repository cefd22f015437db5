"""The types of expressions agree with their values and with their Spark form."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from localcdap.api.schema import Schema, Type
from localcdap.plugin_lib.jexl import EvaluationError, parse
from tests.plugin_lib.jexl.test_native import SCHEMA, WRITTEN, generated, made_rows

INT, LONG, DOUBLE, TEXT = Schema.INT, Schema.LONG, Schema.DOUBLE, Schema.STRING


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("whole + 1", LONG),
        ("whole % 2", INT),
        ("l * 2", LONG),
        ("d + i", DOUBLE),
        ("s + i", TEXT),
        ("missing + 'x'", TEXT),
        ("missing + 1", None),
        ("s * 2", None),
        ("s * 2.5", DOUBLE),
        ("i < 5", Schema.BOOLEAN),
        ("i < 5 ? 'y' : 'n'", TEXT),
        ("b ? 1 : 'x'", None),
        ("b ? s : null", TEXT.as_nullable),
        ("s ?: 'x'", TEXT),
        ("i ?? 2147483648", LONG),
        ("coalesce(s, 'x')", TEXT),
        ("NullToZero(i)", INT),
        ("NullToZero(s)", None),
        ("string:upperCase(s)", TEXT.as_nullable),
        ("string:length(s)", INT),
        ("math:max(i, j)", LONG),
        ("math:max(i, d)", DOUBLE),
        ("math:ceil(d)", DOUBLE),
        ("toFloat(s)", Schema.FLOAT),
        ("s.trim()", TEXT),
        ("s?.trim()", TEXT.as_nullable),
        ("s.trim().length()", INT),
        ("day", Schema.DATE.as_nullable),
        ("DAY", Schema.DATE.as_nullable),
        ("datetime:CurrentDate()", Schema.DATE),
        ("date:UNIXTIMESTAMP_MILLIS(day)", LONG),
        ("dq:isNumber(s)", Schema.BOOLEAN),
        ("empty(s)", Schema.BOOLEAN),
        ("size(s)", INT),
        ("1.50b", Schema.decimal(3, 2)),
        ("var x = 1; x", None),
        ("null", None),
        ("dotted.name", Schema.INT.as_nullable),
        ("json:Parse(s)", None),
    ],
)
def test_types(text: str, expected: Schema | None) -> None:
    assert parse(text).type(SCHEMA) == expected


def test_types_reach_into_records_lists_and_maps() -> None:
    inner = Schema.record("inner", [("x", INT)])
    schema = Schema.record(
        "row",
        [("rec", inner), ("list", Schema.array(TEXT)), ("map", Schema.map(TEXT, LONG))],
    )
    assert parse("rec.x").type(schema) == INT.as_nullable
    assert parse("rec['x']").type(schema) == INT.as_nullable
    assert parse("list[0]").type(schema) == TEXT.as_nullable
    assert parse("map['k']").type(schema) == LONG.as_nullable


_KINDS: dict[Type, tuple[type, ...]] = {
    Type.BOOLEAN: (bool,),
    Type.INT: (int, datetime.date),
    Type.LONG: (int,),
    Type.DOUBLE: (float,),
    Type.FLOAT: (float,),
    Type.STRING: (str,),
    Type.BYTES: (bytes, Decimal),
    Type.ARRAY: (list, range),
}


def _fits(value: Any, schema: Schema) -> bool:
    if value is None:
        return schema.is_nullable
    plain = schema.non_nullable
    if isinstance(value, bool) != (plain.type is Type.BOOLEAN):
        return False
    if plain == INT and not -(2**31) <= value < 2**31:
        return False
    return isinstance(value, _KINDS[plain.type])


def test_values_are_of_the_reported_type() -> None:
    rows = made_rows(60)
    wrong = []
    for text in [*WRITTEN, *generated(400)]:
        expression = parse(text)
        schema = expression.type(SCHEMA)
        run = expression.compile()
        for row in rows if schema is not None else ():
            try:
                value = run(row)
            except EvaluationError:
                continue
            if schema is not None and not _fits(value, schema):
                wrong.append(f"{text}: {schema} with {row} gives {value!r}")
                break
    assert not wrong, "\n".join(wrong)
