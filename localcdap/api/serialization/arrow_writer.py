"""Writes lists of record values as Arrow columns, a whole column at a time, and checks every value.

Arrow alone would cut 1.5 to 1 in a column of whole numbers, drop the time of a date, accept text as bytes,
and accept null in parts of a value that must not be null.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from itertools import accumulate, chain, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import SchemaError, StageError
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.api.serialization.arrow_types import list_union_tags, to_arrow_type
from localcdap.api.serialization.value_types import (
    find_deciding_types,
    get_usual_types,
    is_writable,
    matches,
)

if TYPE_CHECKING:
    import pyarrow as pa


ColumnWriter = Callable[[list[Any]], "pa.Array"]
"""Returns a column of values.

:raises StageError: (without a stage) for a value that does not fit; names the field and the value.
"""
_NONE: Final = type(None)


def build_column_writer(schema: Schema, path: str) -> ColumnWriter:
    """Return the writer of values of this schema.

    :param path: the path of the values in a record, such as ``address.lines[]``, for messages.
    """
    inner = schema.non_nullable
    parts = _build_nested_writer(inner, path)
    write = (
        _build_simple_writer(inner, path)
        if parts is None
        else _insert_nulls(parts, to_arrow_type(inner))
    )
    if schema.is_nullable or schema.type is Type.NULL:
        return write

    def write_required(values: list[Any]) -> pa.Array:
        column = write(values)
        if column.null_count:
            raise StageError(
                f"Field '{path}' is null in a record, but its schema does not allow null.",
                f"Give '{path}' a value, or make it nullable in the output schema.",
            )
        return column

    return write_required


def pick_members(rows: list[Any], name: str) -> list[Any]:
    """Return one member of each dict, None where it is absent.

    :raises StageError: (without a stage) when one of the rows is not a dict.
    """
    try:
        return list(map(itemgetter(name), rows))
    except (KeyError, TypeError, IndexError):
        pass
    wrong = next((row for row in rows if not isinstance(row, dict)), None)
    if wrong is not None or None in rows:
        raise StageError(f"A record must be a dict, not {quote_value(wrong)}.")
    return [row.get(name) for row in rows]


def quote_value(value: Any) -> str:
    """Return a value and its class for a message, cut to 80 characters."""
    is_plain = isinstance(value, (Decimal, datetime.date, datetime.time))
    text = str(value) if is_plain else repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"


def _build_error(path: str, expected: str, value: Any) -> StageError:
    return StageError(
        f"Field '{path}' must be {expected}, but a record holds {quote_value(value)}."
    )


def _describe_type(schema: Schema) -> str:
    if schema.type is Type.ENUM:
        return f"one of {', '.join(schema.symbols)}"
    if schema.type is Type.UNION:
        return f"one of the types {', '.join(list_union_tags(schema))}"
    match schema.logical_type:
        case LogicalType.DECIMAL:
            precision, scale = schema.precision or 0, schema.scale or 0
            digits = f"digits: {precision - scale} before the point, {scale} after it"
            return f"of type decimal({precision}, {scale}) ({digits})"
        case LogicalType.TIMESTAMP_MICROS | LogicalType.TIMESTAMP_MILLIS:
            return f"of type {schema.display_name} (a datetime with a time zone)"
        case LogicalType.DATETIME:
            return "of type datetime (a datetime without a time zone)"
    return f"of type {schema.display_name}"


def _build_simple_writer(schema: Schema, path: str) -> ColumnWriter:
    import pyarrow as pa

    type_ = to_arrow_type(schema)
    usual_types = get_usual_types(schema) | {_NONE}
    symbols = {*schema.symbols, None}

    def write(values: list[Any]) -> pa.Array:
        if not usual_types.issuperset(map(type, values)) or (
            schema.symbols and not symbols.issuperset(values)
        ):
            for value in values:
                if value is not None and not is_writable(value, schema):
                    raise _build_error(path, _describe_type(schema), value)
        try:
            return pa.array(values, type=type_)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            wrong = next((v for v in values if not _is_accepted(v, type_)), None)
            raise _build_error(path, _describe_type(schema), wrong) from None

    return write


def _is_accepted(value: Any, type: pa.DataType) -> bool:
    import pyarrow as pa

    try:
        pa.array([value], type=type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _build_nested_writer(schema: Schema, path: str) -> ColumnWriter | None:
    """Return the writer of non-null values that have parts; None for a schema without parts."""
    match schema.type:
        case Type.ARRAY if schema.items is not None:
            return _build_list_writer(schema, build_column_writer(schema.items, f"{path}[]"), path)
        case Type.MAP if schema.keys is not None and schema.values is not None:
            keys = build_column_writer(schema.keys, f"{path}.keys")
            return _build_map_writer(
                schema, keys, build_column_writer(schema.values, f"{path}.values"), path
            )
        case Type.RECORD:
            return _build_record_writer(schema, path)
        case Type.UNION:
            return _build_union_writer(schema, path)
    return None


def _insert_nulls(write: ColumnWriter, arrow: pa.DataType) -> ColumnWriter:
    """Return a writer that writes the values that are not None, and inserts the nulls."""
    import pyarrow as pa

    def write_with_nulls(values: list[Any]) -> pa.Array:
        if _NONE not in set(map(type, values)):
            return write(values)
        present = [value for value in values if value is not None]
        if not present:
            return pa.array(values, type=arrow)
        ends = accumulate(value is not None for value in values)
        column = write(present)
        if not pa.types.is_struct(arrow) or not arrow.num_fields:
            indexes = [None if v is None else n - 1 for v, n in zip(values, ends, strict=True)]
            return column.take(pa.array(indexes, pa.int32()))
        # Parquet rejects a null in a required member even where the struct itself is null, so a null
        # struct borrows the members of a neighbour.
        filled = column.take(pa.array([max(n - 1, 0) for n in ends], pa.int32()))
        nulls = pa.array([value is None for value in values])
        return pa.StructArray.from_arrays(filled.flatten(), fields=list(arrow), mask=nulls)

    return write_with_nulls


def _build_list_writer(schema: Schema, items: ColumnWriter, path: str) -> ColumnWriter:
    import pyarrow as pa

    type_ = to_arrow_type(schema)

    def write(values: list[Any]) -> pa.Array:
        _check_values(values, schema, path)
        offsets = pa.array([0, *accumulate(map(len, values))], pa.int32())
        return pa.ListArray.from_arrays(offsets, items(list(chain.from_iterable(values))), type_)

    return write


def _build_map_writer(
    schema: Schema, keys: ColumnWriter, items: ColumnWriter, path: str
) -> ColumnWriter:
    import pyarrow as pa

    type_ = to_arrow_type(schema)

    def write(values: list[Any]) -> pa.Array:
        _check_values(values, schema, path)
        offsets = pa.array([0, *accumulate(map(len, values))], pa.int32())
        names = keys(list(chain.from_iterable(values)))
        parts = items([item for value in values for item in value.values()])
        return pa.MapArray.from_arrays(offsets, names, parts, type_)

    return write


def _build_record_writer(schema: Schema, path: str) -> ColumnWriter:
    import pyarrow as pa

    type_ = to_arrow_type(schema)
    writers = {f.name: build_column_writer(f.schema, f"{path}.{f.name}") for f in schema}

    def write(values: list[Any]) -> pa.Array:
        _check_values(values, schema, path)
        if not writers:
            return pa.array(values, type=type_)
        columns = [write(pick_members(values, name)) for name, write in writers.items()]
        return pa.StructArray.from_arrays(columns, fields=list(type_))

    return write


def _build_union_writer(union: Schema, path: str) -> ColumnWriter:
    import pyarrow as pa

    type_ = to_arrow_type(union)
    choices = [m for m in union.members if m.type is not Type.NULL]
    writers = [build_column_writer(m.as_nullable, path) for m in choices]
    by_class = find_deciding_types(choices)

    def choose(value: Any) -> int:
        decided = by_class.get(type(value))
        if decided is not None:
            return decided
        for index, member in enumerate(choices):
            if matches(value, member):
                return index
        raise _build_error(path, _describe_type(union), value)

    def write(values: list[Any]) -> pa.Array:
        numbers = list(map(choose, values))
        columns = [
            write([v if n == own else None for v, n in zip(values, numbers, strict=True)])
            for own, write in enumerate(writers)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(type_))

    return write


def _check_values(values: list[Any], schema: Schema, path: str) -> None:
    if not get_usual_types(schema).issuperset(map(type, values)):
        wrong = next((v for v in values if not is_writable(v, schema)), None)
        if wrong is not None:
            raise _build_error(path, _describe_type(schema), wrong)


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
