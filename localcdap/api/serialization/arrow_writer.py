"""Lists of record values as Arrow columns, a whole column at a time; every value is checked.

Arrow alone would cut 1.5 to 1 in a column of whole numbers, drop the time of a date, take text for bytes,
and let null into the parts of a value that must not be null.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema, Type
from localcdap.api.serialization.arrow_types import list_union_tags, to_arrow_type
from localcdap.api.serialization.value_types import deciding_classes, fits, matches, usual_classes

if TYPE_CHECKING:
    import pyarrow as pa

Writer = Callable[[list[Any]], "pa.Array"]
"""A column of values.

:raises StageError: (without a stage) for a value that does not fit; names the field and the value.
"""
_NONE: Final = type(None)


def writer(schema: Schema, path: str) -> Writer:
    """How values of this schema are written.

    :param path: where the values are in a record: ``address.lines[]``, for messages.
    """
    inner = schema.non_nullable
    parts = _parts(inner, path)
    write = _leaf(inner, path) if parts is None else _spread(parts, to_arrow_type(inner))
    if schema.is_nullable or schema.type is Type.NULL:
        return write

    def required(values: list[Any]) -> pa.Array:
        column = write(values)
        if column.null_count:
            raise StageError(
                f"Field '{path}' is null in a record, but its schema does not allow null.",
                f"Give '{path}' a value, or make it nullable in the output schema.",
            )
        return column

    return required


def members(rows: list[Any], name: str) -> list[Any]:
    """One member of each dict, None where it is absent.

    :raises StageError: (without a stage) when one of them is no dict.
    """
    try:
        return list(map(itemgetter(name), rows))
    except (KeyError, TypeError, IndexError):
        pass
    wrong = next((row for row in rows if not isinstance(row, dict)), None)
    if wrong is not None or None in rows:
        raise StageError(f"A record must be a dict, not {shown(wrong)}.")
    return [row.get(name) for row in rows]


def shown(value: Any) -> str:
    """A value and its class, cut to a length fit for a message."""
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"


def _refused(path: str, wanted: str, value: Any) -> StageError:
    return StageError(f"Field '{path}' must be {wanted}, but a record holds {shown(value)}.")


def _wanted(schema: Schema) -> str:
    if schema.type is Type.ENUM:
        return f"one of {', '.join(schema.symbols)}"
    if schema.type is Type.UNION:
        return f"one of the types {', '.join(list_union_tags(schema))}"
    return f"of type {schema.display_name}"


def _leaf(schema: Schema, path: str) -> Writer:
    import pyarrow as pa

    type_ = to_arrow_type(schema)
    usual = usual_classes(schema) | {_NONE}
    symbols = {*schema.symbols, None}

    def write(values: list[Any]) -> pa.Array:
        if not usual.issuperset(map(type, values)) or (
            schema.symbols and not symbols.issuperset(values)
        ):
            for value in values:
                if value is not None and not fits(value, schema):
                    raise _refused(path, _wanted(schema), value)
        try:
            return pa.array(values, type=type_)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            wrong = next((v for v in values if not _taken(v, type_)), None)
            raise _refused(path, _wanted(schema), wrong) from None

    return write


def _taken(value: Any, type: pa.DataType) -> bool:
    import pyarrow as pa

    try:
        pa.array([value], type=type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _parts(schema: Schema, path: str) -> Writer | None:
    """The writer of non-null values that have parts; None for a schema without parts."""
    match schema.type:
        case Type.ARRAY if schema.items is not None:
            return _lists(schema, writer(schema.items, f"{path}[]"), path)
        case Type.MAP if schema.keys is not None and schema.values is not None:
            keys = writer(schema.keys, f"{path}.keys")
            return _maps(schema, keys, writer(schema.values, f"{path}.values"), path)
        case Type.RECORD:
            return _structs(schema, path)
        case Type.UNION:
            return _unions(schema, path)
    return None


def _spread(write: Writer, arrow: pa.DataType) -> Writer:
    """Writes the values that are not None, and puts nulls between them."""
    import pyarrow as pa

    def spread(values: list[Any]) -> pa.Array:
        if _NONE not in set(map(type, values)):
            return write(values)
        present = [value for value in values if value is not None]
        if not present:
            return pa.array(values, type=arrow)
        ends = accumulate(value is not None for value in values)
        column = write(present)
        if not pa.types.is_struct(arrow) or not arrow.num_fields:
            places = [None if v is None else n - 1 for v, n in zip(values, ends, strict=True)]
            return column.take(pa.array(places, pa.int32()))
        # Parquet refuses a null member that is declared required, even where the whole is null.
        lent = column.take(pa.array([max(n - 1, 0) for n in ends], pa.int32()))
        nulls = pa.array([value is None for value in values])
        return pa.StructArray.from_arrays(lent.flatten(), fields=list(arrow), mask=nulls)

    return spread


def _lists(schema: Schema, items: Writer, path: str) -> Writer:
    import pyarrow as pa

    type_ = to_arrow_type(schema)

    def write(values: list[Any]) -> pa.Array:
        _check(values, schema, path)
        offsets = pa.array([0, *accumulate(map(len, values))], pa.int32())
        return pa.ListArray.from_arrays(offsets, items(list(chain.from_iterable(values))), type_)

    return write


def _maps(schema: Schema, keys: Writer, items: Writer, path: str) -> Writer:
    import pyarrow as pa

    type_ = to_arrow_type(schema)

    def write(values: list[Any]) -> pa.Array:
        _check(values, schema, path)
        offsets = pa.array([0, *accumulate(map(len, values))], pa.int32())
        names = keys(list(chain.from_iterable(values)))
        parts = items([item for value in values for item in value.values()])
        return pa.MapArray.from_arrays(offsets, names, parts, type_)

    return write


def _structs(schema: Schema, path: str) -> Writer:
    import pyarrow as pa

    type_ = to_arrow_type(schema)
    writers = {f.name: writer(f.schema, f"{path}.{f.name}") for f in schema}

    def write(values: list[Any]) -> pa.Array:
        _check(values, schema, path)
        if not writers:
            return pa.array(values, type=type_)
        columns = [write(members(values, name)) for name, write in writers.items()]
        return pa.StructArray.from_arrays(columns, fields=list(type_))

    return write


def _unions(union: Schema, path: str) -> Writer:
    import pyarrow as pa

    type_ = to_arrow_type(union)
    choices = [m for m in union.members if m.type is not Type.NULL]
    writers = [writer(m.as_nullable, path) for m in choices]
    by_class = deciding_classes(choices)

    def chosen(value: Any) -> int:
        decided = by_class.get(type(value))
        if decided is not None:
            return decided
        for index, member in enumerate(choices):
            if matches(value, member):
                return index
        raise _refused(path, _wanted(union), value)

    def write(values: list[Any]) -> pa.Array:
        numbers = list(map(chosen, values))
        columns = [
            write([v if n == own else None for v, n in zip(values, numbers, strict=True)])
            for own, write in enumerate(writers)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(type_))

    return write


def _check(values: list[Any], schema: Schema, path: str) -> None:
    if not usual_classes(schema).issuperset(map(type, values)):
        wrong = next((v for v in values if not fits(v, schema)), None)
        if wrong is not None:
            raise _refused(path, _wanted(schema), wrong)
