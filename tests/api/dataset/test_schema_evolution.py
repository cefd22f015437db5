from __future__ import annotations

import pytest

from localcdap.api.dataset.schema_evolution import (
    ChangeKind,
    find_field_changes,
    is_wider,
    list_reasons,
    merge_schemas,
)
from localcdap.api.schema import LogicalType, Schema


def record(**fields: Schema) -> Schema:
    return Schema.record("r", list(fields.items()))


INT, LONG, FLOAT, DOUBLE = Schema.INT, Schema.LONG, Schema.FLOAT, Schema.DOUBLE
STRING, BYTES, NULL = Schema.STRING, Schema.BYTES, Schema.NULL


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (INT, LONG),
        (INT, DOUBLE),
        (FLOAT, DOUBLE),
        (INT, Schema.decimal(10, 0)),
        (LONG, Schema.decimal(22, 3)),
        (Schema.decimal(10, 2), Schema.decimal(12, 2)),
        (Schema.decimal(10, 2), Schema.decimal(12, 4)),
        (Schema.enum("AB"), Schema.enum("ACB")),
        (NULL, STRING.as_nullable),
        (Schema.array(INT), Schema.array(INT.as_nullable)),
        (Schema.map(STRING, Schema.enum("A")), Schema.map(STRING, Schema.enum("AB").as_nullable)),
        (record(x=INT, y=STRING), record(y=STRING.as_nullable, x=INT)),
    ],
)
def test_types_that_hold_every_value(old, new):
    assert is_wider(old, new)
    (change,) = find_field_changes(record(a=old), record(a=new))

    assert change.kind is ChangeKind.WIDENED
    assert change.reason is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LONG, INT),
        (LONG, DOUBLE),
        (INT, FLOAT),
        (DOUBLE, FLOAT),
        (INT, STRING),
        (INT, Schema.decimal(9, 0)),
        (LONG, Schema.decimal(20, 3)),
        (Schema.decimal(10, 2), Schema.decimal(10, 4)),
        (Schema.decimal(10, 2), DOUBLE),
        (Schema.enum("AB"), Schema.enum("A")),
        (Schema.enum("AB"), STRING),
        (Schema.of(LogicalType.DATE), LONG),
        (INT, Schema.of(LogicalType.DATE)),
        (Schema.array(INT), Schema.array(LONG)),
        (Schema.array(INT.as_nullable), Schema.array(INT)),
        (record(x=INT), record(x=INT, y=STRING.as_nullable)),
        (BYTES, STRING),
        (INT, NULL),
    ],
)
def test_types_that_do_not(old, new):
    (change,) = find_field_changes(record(a=old), record(a=new))

    assert change.kind is ChangeKind.RETYPED
    assert change.reason


def test_null():
    nullable, plain = record(a=INT.as_nullable), record(a=INT)

    (relaxed,) = find_field_changes(plain, nullable)
    (tightened,) = find_field_changes(nullable, plain)
    (wider_and_null,) = find_field_changes(plain, record(a=LONG.as_nullable))
    (wider_only,) = find_field_changes(nullable, record(a=LONG))

    assert (relaxed.kind, relaxed.reason) == (ChangeKind.RELAXED, None)
    assert tightened.kind is ChangeKind.TIGHTENED
    assert "rows may hold a null" in tightened.reason
    assert (wider_and_null.kind, wider_and_null.old, wider_and_null.new) == (
        ChangeKind.WIDENED,
        "int",
        "long or null",
    )
    assert wider_only.kind is ChangeKind.TIGHTENED


def test_what_changes_nothing():
    inner = Schema.record("inner", [("x", INT)])
    other = Schema.record("other", [("x", INT)])

    assert find_field_changes(record(a=INT, b=STRING), record(b=STRING, a=INT)) == []
    assert find_field_changes(record(a=Schema.array(inner)), record(a=Schema.array(other))) == []


def test_added_dropped_and_renamed():
    changes = find_field_changes(
        record(a=INT, b=STRING), record(a=INT, c=STRING, A=INT.as_nullable)
    )

    assert [(each.field, each.kind) for each in changes] == [
        ("b", ChangeKind.DROPPED),
        ("c", ChangeKind.ADDED),
        ("A", ChangeKind.ADDED),
    ]
    assert list_reasons(changes, "d") == [
        "Dataset 'd': field 'b' (string) cannot be dropped. Renaming it to 'c' would lose its values, too.",
        "Dataset 'd': new field 'c' (string) must allow null: the rows until now have no value of it.",
        "Dataset 'd': field 'A' differs from 'a' in case only; a table treats them as equal.",
    ]


def test_old_fields_keep_their_place():
    merged = merge_schemas(record(a=INT, b=STRING), record(c=INT.as_nullable, b=STRING, a=LONG))

    assert merged == record(a=LONG, b=STRING, c=INT.as_nullable)
