"""Arrow columns as lists of record values, a whole column at a time."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import SchemaError
from localcdap.api.schema import LogicalType, Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

Reader = Callable[["pa.Array"], list[Any]]
"""The values of a column, None where it is null."""

_MOMENTS: Final = (LogicalType.TIMESTAMP_MILLIS, LogicalType.TIMESTAMP_MICROS)


def reader(schema: Schema) -> Reader:
    """How a column of this schema is read."""
    inner = schema.non_nullable
    if _is_plain(inner):
        return _plain
    if inner.logical_type is not None:
        return _moments if inner.logical_type in _MOMENTS else _logical
    match inner.type:
        case Type.ARRAY if inner.items is not None:
            return _lists(reader(inner.items))
        case Type.MAP if inner.keys is not None and inner.values is not None:
            return _maps(reader(inner.keys), reader(inner.values))
        case Type.RECORD:
            return _structs(inner)
        case Type.UNION:
            return _unions([reader(m) for m in inner.members if m.type is not Type.NULL])
    raise SchemaError(f"A column of type {inner.display_name} cannot be read.")


def _is_plain(schema: Schema) -> bool:
    """Whether Arrow itself makes the right values, and fast."""
    inner = schema.non_nullable
    if inner.logical_type is not None:
        return False
    match inner.type:
        case Type.ARRAY:
            return inner.items is not None and _is_plain(inner.items)
        case Type.RECORD:
            return all(_is_plain(field.schema) for field in inner)
    return inner.type not in (Type.MAP, Type.UNION)


RowMaker = Callable[[list[list[Any]], int], list[dict[str, Any]]]
"""Makes dicts of columns; the number is how many values each column has."""


def row_maker(names: list[str]) -> RowMaker:
    """What makes dicts with these keys. There may be none: the dicts are empty then.

    A display written out for the names is faster than filling dicts by columns or from pairs.
    """
    if not names:
        return lambda _, count: [{} for _ in range(count)]
    values = [f"v{number}" for number in range(len(names))]
    entries = ", ".join(f"{name!r}: {value}" for name, value in zip(names, values, strict=True))
    targets = ", ".join(values) + ","
    # The only texts in the source that are not ours are the names, as literals.
    source = f"lambda columns, count: [{{{entries}}} for {targets} in zip(*columns, strict=True)]"
    made: RowMaker = eval(source)  # noqa: S307
    return made


def _plain(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values


def _logical(column: pa.Array) -> list[Any]:
    # NumPy makes these values ten to eighty times as fast as Arrow does, but gives an int for a
    # date that Python cannot hold; Arrow says what is wrong with it.
    values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return column.to_pylist() if int in set(map(type, values)) else values


def _moments(column: pa.Array) -> list[Any]:
    utc = datetime.UTC
    return [None if v is None else v.replace(tzinfo=utc) for v in _logical(column)]


def _lists(items: Reader) -> Reader:
    def read(column: pa.Array) -> list[Any]:
        offsets = column.offsets.to_pylist()
        first, last = offsets[0], offsets[-1]
        values = items(column.values.slice(first, last - first))
        return _without_nulls(column, [values[a - first : b - first] for a, b in pairwise(offsets)])

    return read


def _maps(keys: Reader, values: Reader) -> Reader:
    def read(column: pa.Array) -> list[Any]:
        offsets = column.offsets.to_pylist()
        first, last = offsets[0], offsets[-1]
        names = keys(column.keys.slice(first, last - first))
        items = values(column.items.slice(first, last - first))
        entries = list(zip(names, items, strict=True))
        return _without_nulls(
            column, [dict(entries[a - first : b - first]) for a, b in pairwise(offsets)]
        )

    return read


def _structs(record: Schema) -> Reader:
    readers = [reader(field.schema) for field in record]
    make = row_maker(record.field_names)

    def read(column: pa.Array) -> list[Any]:
        parts = zip(readers, column.flatten(), strict=True)
        made = make([read(part) for read, part in parts], len(column))
        return _without_nulls(column, made)

    return read


def _unions(readers: list[Reader]) -> Reader:
    def read(column: pa.Array) -> list[Any]:
        parts = zip(readers, column.flatten(), strict=True)
        chosen, *others = [read(part) for read, part in parts]
        for other in others:
            chosen = [b if a is None else a for a, b in zip(chosen, other, strict=True)]
        return chosen

    return read


def _without_nulls(column: pa.Array, values: list[Any]) -> list[Any]:
    """The values, None where the column is null."""
    if column.null_count == 0:
        return values
    valid = column.is_valid().to_pylist()
    return [value if ok else None for value, ok in zip(values, valid, strict=True)]
