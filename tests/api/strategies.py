"""Schemas and values that fit them, for property tests."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

from hypothesis import strategies as st

from localcdap.api.schema import LogicalType, Schema, Type

NAMES = st.sampled_from(["id", "name", "a", "b", "größe", "two words", "dotted.name", "class"])
RECORD_NAMES = st.sampled_from(["etlSchemaBody", "rec", "a", "b"])
LEAVES = st.one_of(
    st.sampled_from([t for t in Type if t.is_simple and t is not Type.NULL]).map(Schema.of),
    st.sampled_from([t for t in LogicalType if t is not LogicalType.DECIMAL]).map(Schema.of),
    st.integers(1, 38).flatmap(
        lambda p: st.integers(0, p).map(lambda scale: Schema.decimal(p, scale))
    ),
    st.lists(st.sampled_from("ABCDE"), min_size=1, max_size=3, unique=True).map(Schema.enum),
)


def _records(parts: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    fields = st.lists(st.tuples(NAMES, parts), min_size=1, max_size=4, unique_by=lambda f: f[0])
    return st.builds(Schema.record, RECORD_NAMES, fields)


def _unions(parts: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    plain = parts.filter(lambda s: s.type not in (Type.UNION, Type.NULL))
    members = st.lists(plain, min_size=2, max_size=3, unique_by=_python_kind)
    return st.one_of(members.map(Schema.union), members.map(lambda m: Schema.union(m).as_nullable))


def _python_kind(schema: Schema) -> object:
    """Equal for schemas that share Python values, which a union cannot distinguish."""
    kinds = {
        Type.MAP: dict,
        Type.RECORD: dict,
        Type.ARRAY: list,
        Type.FLOAT: float,
        Type.DOUBLE: float,
    }
    return kinds.get(schema.type, schema)


def _grown(parts: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.one_of(
        parts.map(Schema.array),
        st.builds(Schema.map, LEAVES.filter(lambda s: s.type is not Type.NULL), parts),
        _records(parts),
        _unions(parts),
        parts.map(lambda s: s.as_nullable),
    )


SCHEMAS = st.recursive(st.one_of(LEAVES, st.just(Schema.NULL)), _grown, max_leaves=8)
RECORD_SCHEMAS = _records(SCHEMAS)


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Record values in the form that reading gives back: see ``localcdap.api.stage.Record``."""
    if schema.logical_type is not None:
        return _logical(schema)
    match schema.type:
        case Type.UNION:
            return st.one_of([values(m) for m in schema.members])
        case Type.ARRAY:
            return st.lists(values(schema.items), max_size=3)
        case Type.MAP:
            return st.dictionaries(values(schema.keys), values(schema.values), max_size=3)
        case Type.RECORD:
            return st.fixed_dictionaries({f.name: values(f.schema) for f in schema})
        case Type.ENUM:
            return st.sampled_from(schema.symbols)
    return _SIMPLE[schema.type]


_SIMPLE = {
    Type.NULL: st.none(),
    Type.BOOLEAN: st.booleans(),
    Type.INT: st.integers(-(2**31), 2**31 - 1),
    Type.LONG: st.integers(-(2**63), 2**63 - 1),
    Type.FLOAT: st.floats(width=32, allow_nan=False),
    Type.DOUBLE: st.floats(allow_nan=False),
    Type.BYTES: st.binary(max_size=5),
    Type.STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
}


def _logical(schema: Schema) -> st.SearchStrategy[Any]:
    match schema.logical_type:
        case LogicalType.DATE:
            return st.dates()
        case LogicalType.TIME_MILLIS | LogicalType.TIME_MICROS:
            return st.times()
        case LogicalType.DATETIME:
            return st.datetimes()
        case LogicalType.DECIMAL:
            return _decimals(schema)
    return st.datetimes(timezones=st.just(datetime.UTC))


def _decimals(schema: Schema) -> st.SearchStrategy[decimal.Decimal]:
    largest = 10**schema.precision - 1
    unscaled = st.integers(-largest, largest)
    return unscaled.map(lambda n: decimal.Decimal(n).scaleb(-schema.scale, _CONTEXT))


_CONTEXT = decimal.Context(prec=60)
