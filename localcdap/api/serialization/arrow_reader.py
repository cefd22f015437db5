"""Reads Arrow columns as lists of record values, a whole column at a time."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import SchemaError
from localcdap.api.schema import LogicalType, Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

ColumnReader = Callable[["pa.Array"], list[Any]]
"""Returns the values of a column, None for null."""

_TIMESTAMPS: Final = (LogicalType.TIMESTAMP_MILLIS, LogicalType.TIMESTAMP_MICROS)


def build_column_reader(schema: Schema) -> ColumnReader:
    """Return the reader of a column of this schema.

    :raises SchemaError: when there is none.
    """
    inner = schema.non_nullable
    if _is_plain(inner):
        return _read_plain
    if inner.logical_type is not None:
        return _read_timestamps if inner.logical_type in _TIMESTAMPS else _read_logical
    match inner.type:
        case Type.ARRAY if inner.items is not None:
            return _build_list_reader(build_column_reader(inner.items))
        case Type.MAP if inner.keys is not None and inner.values is not None:
            return _build_map_reader(
                build_column_reader(inner.keys), build_column_reader(inner.values)
            )
        case Type.RECORD:
            return _build_record_reader(inner)
        case Type.UNION:
            return _build_union_reader(
                [build_column_reader(m) for m in inner.members if m.type is not Type.NULL]
            )
    raise SchemaError(f"A column of type {inner.display_name} cannot be read.")


def _is_plain(schema: Schema) -> bool:
    """Return whether Arrow itself makes the right values, and fast."""
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
"""Returns the rows of columns as dicts; the number is how many values each column has."""


def build_row_maker(names: list[str]) -> RowMaker:
    """Return the maker of dicts with these keys; without keys the dicts are empty.

    A generated dict display is faster than filling dicts column by column or from pairs.
    """
    if not names:
        return lambda _, count: [{} for _ in range(count)]
    values = [f"v{number}" for number in range(len(names))]
    entries = ", ".join(f"{name!r}: {value}" for name, value in zip(names, values, strict=True))
    targets = ", ".join(values) + ","
    # Safe to evaluate: the names, which are all that is not written here, are string literals.
    source = f"lambda columns, count: [{{{entries}}} for {targets} in zip(*columns, strict=True)]"
    made: RowMaker = eval(source)  # noqa: S307
    return made


def _read_plain(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values


def _read_logical(column: pa.Array) -> list[Any]:
    # NumPy converts these values ten to eighty times as fast as Arrow, but gives an int for a date
    # that Python cannot hold; for that date Arrow raises an error that says what is wrong.
    values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return column.to_pylist() if int in set(map(type, values)) else values


def _read_timestamps(column: pa.Array) -> list[Any]:
    utc = datetime.UTC
    return [None if v is None else v.replace(tzinfo=utc) for v in _read_logical(column)]


def _build_list_reader(items: ColumnReader) -> ColumnReader:
    def read(column: pa.Array) -> list[Any]:
        offsets = column.offsets.to_numpy().tolist()
        first, last = offsets[0], offsets[-1]
        values = items(column.values.slice(first, last - first))
        return _set_nulls(column, [values[a - first : b - first] for a, b in pairwise(offsets)])

    return read


def _build_map_reader(keys: ColumnReader, values: ColumnReader) -> ColumnReader:
    def read(column: pa.Array) -> list[Any]:
        offsets = column.offsets.to_numpy().tolist()
        first, last = offsets[0], offsets[-1]
        names = keys(column.keys.slice(first, last - first))
        items = values(column.items.slice(first, last - first))
        entries = list(zip(names, items, strict=True))
        made = [dict(entries[a - first : b - first]) if a < b else {} for a, b in pairwise(offsets)]
        return _set_nulls(column, made)

    return read


def _build_record_reader(record: Schema) -> ColumnReader:
    readers = [build_column_reader(field.schema) for field in record]
    make = build_row_maker(record.field_names)

    def read(column: pa.Array) -> list[Any]:
        parts = zip(readers, column.flatten(), strict=True)
        made = make([read(part) for read, part in parts], len(column))
        return _set_nulls(column, made)

    return read


def _build_union_reader(readers: list[ColumnReader]) -> ColumnReader:
    def read(column: pa.Array) -> list[Any]:
        parts = zip(readers, column.flatten(), strict=True)
        chosen, *others = [read(part) for read, part in parts]
        for other in others:
            chosen = [b if a is None else a for a, b in zip(chosen, other, strict=True)]
        return chosen

    return read


def _set_nulls(column: pa.Array, values: list[Any]) -> list[Any]:
    """Return the values with None where the column is null."""
    if column.null_count == 0:
        return values
    valid = column.is_valid().to_pylist()
    return [value if ok else None for value, ok in zip(values, valid, strict=True)]
