"""Columns of Parquet and ORC files as values of the types of a schema.

CDAP reads a Parquet file with the declared schema (parquet-avro's ``AvroConverters``): whole numbers are
promoted to wider ones and to floating-point numbers, and a number stands for the logical type that the schema
gives it. Where that would misread a value (a decimal of another scale, milliseconds under a type of
microseconds), the value is converted; where it cannot stay what it is, reading fails.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import Field, LogicalType, Schema, Type
from localcdap.api.arrow import list_union_tags, to_arrow_type
from localcdap.api.errors import BadRequestError
from localcdap.files.avro_values import LOCAL_TIME, read_unscaled

if TYPE_CHECKING:
    import pyarrow as pa

Conversion = Callable[["pa.Array"], "pa.Array"]
"""Returns a column with the Arrow type of a schema, of the same length.

:raises pyarrow.ArrowInvalid: when a value does not fit.
"""
_GREGORIAN: Final = -141_427
"""The first day of the Gregorian calendar, 1582-10-15, in days since 1970-01-01."""
_INSTANTS: Final = (LogicalType.TIMESTAMP_MILLIS, LogicalType.TIMESTAMP_MICROS)
_TIMES: Final = (LogicalType.TIME_MILLIS, LogicalType.TIME_MICROS)
_MILLIS: Final = (LogicalType.TIMESTAMP_MILLIS, LogicalType.TIME_MILLIS)


class UnfitValueError(Exception):
    """A value of a column does not fit the type of its field.

    :param row: its position in the file.
    """

    def __init__(
        self, field: Field, row: int, value: Any, stored: pa.DataType, reason: str
    ) -> None:
        inner, shown = field.schema.non_nullable, f"{value}"[:80]
        type = inner.display_name
        if inner.precision is not None:
            type = f"decimal({inner.precision}, {inner.scale or 0})"
        self.message: Final = (
            f"Field '{field.name}' is null, but its schema does not allow null."
            if value is None
            else f"Field '{field.name}' must be of type {type}, but it is {shown}."
        )
        self.row: Final = row
        self.corrective_action: Final = (
            f"Change the type of '{field.name}' in the schema; in the file it is of type {stored}."
        )
        self._unchanged: Final = (
            f"Row {row + 1:,}: field '{field.name}' has the value {shown}, which does not fit the type "
            f"{to_arrow_type(field.schema)} unchanged: {reason}"
        )
        super().__init__(self.message)

    def describe_row(self) -> BadRequestError:
        """Return the error for a reader that has no schema but that of the file."""
        return BadRequestError(
            self._unchanged, f"Round the field, or keep it as text. {self.corrective_action}"
        )


def convert_column(column: pa.Array, field: Field, done: int) -> pa.Array:
    """Return a column as values of a field; a conversion must exist.

    :param done: the rows of the file before the column.
    :raises UnfitValueError: for the first value that does not fit.
    """
    import pyarrow as pa

    conversion = find_conversion(column.type, field.schema)
    assert conversion is not None, (column.type, field)
    convert = _require(conversion, field.schema)
    try:
        return convert(column)
    except pa.ArrowInvalid as error:
        row = _find_unfit(column, convert)
        value = column[row] if column[row].is_valid else None
        raise UnfitValueError(field, done + row, value, column.type, str(error)) from None


def _find_unfit(column: pa.Array, convert: Conversion) -> int:
    """Return the first position of a column at which a value cannot be converted."""
    import pyarrow as pa

    first, end = 0, len(column)
    while end - first > 1:
        middle = (first + end) // 2
        try:
            convert(column[first:middle])
            first = middle
        except pa.ArrowInvalid:
            end = middle
    return first


def _require(convert: Conversion, schema: Schema) -> Conversion:
    """Return a conversion that refuses null unless the schema allows it."""
    import pyarrow as pa

    if schema.is_nullable or schema.type is Type.NULL:
        return convert

    def convert_required(column: pa.Array) -> pa.Array:
        if column.null_count:
            raise pa.ArrowInvalid("null is not allowed")
        return convert(column)

    return convert_required


def find_conversion(stored: pa.DataType, schema: Schema) -> Conversion | None:
    """Return how a column of a file becomes values of a schema; None if it cannot.

    :param stored: the type in the file, see :class:`.ArrowFile`.
    """
    import pyarrow as pa

    inner = schema.non_nullable
    target = to_arrow_type(inner)
    if pa.types.is_null(stored) or inner.type is Type.NULL:
        return lambda column: pa.nulls(len(column), target)
    if inner.logical_type is not None:
        return _find_logical(stored, inner, target)
    match inner.type:
        case Type.ARRAY | Type.MAP | Type.RECORD | Type.UNION:
            return _find_nested(stored, inner, target)
    return _find_simple(stored, inner, target)


def _cast(target: pa.DataType, *steps: pa.DataType, safe: bool = True) -> Conversion:
    def convert(column: pa.Array) -> pa.Array:
        for type in (*steps, target):
            column = column.cast(type, safe=safe)
        return column

    return convert


# -- simple types ---------------------------------------------------------------------------


def _find_simple(stored: pa.DataType, schema: Schema, target: pa.DataType) -> Conversion | None:
    import pyarrow as pa

    kinds = pa.types
    is_whole, is_float = kinds.is_integer(stored), kinds.is_floating(stored)
    is_time = kinds.is_temporal(stored)
    match schema.type:
        case Type.BOOLEAN if kinds.is_boolean(stored):
            return _cast(target)
        case Type.INT | Type.LONG if is_whole or is_float or kinds.is_decimal(stored):
            return _cast(target)
        case Type.INT | Type.LONG if is_time and stored.bit_width <= target.bit_width:
            return _cast(target, pa.int32() if stored.bit_width == 32 else pa.int64())
        case Type.FLOAT | Type.DOUBLE if is_whole or is_float or kinds.is_decimal(stored):
            return _convert_to_float(stored, target)
        case Type.STRING | Type.ENUM if stored == pa.uuid():
            return lambda column: pa.array(map(_format_uuid, column.storage.to_pylist()), target)
        case Type.ENUM if kinds.is_string(stored) or kinds.is_binary(stored):
            return _convert_to_enum(schema, target)
        case Type.STRING | Type.BYTES if kinds.is_string(stored) or kinds.is_binary(stored):
            return _cast(target)
        case Type.STRING | Type.BYTES if kinds.is_fixed_size_binary(stored):
            return _cast(target, pa.binary())
        case Type.BYTES if stored == pa.uuid():
            return lambda column: column.storage.cast(target)
    return None


def _format_uuid(content: bytes | None) -> str | None:
    return None if content is None else str(uuid.UUID(bytes=content))


def _convert_to_float(stored: pa.DataType, target: pa.DataType) -> Conversion:
    """Return a conversion that rounds, as Java's numbers do, and refuses what is out of range."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def convert(column: pa.Array) -> pa.Array:
        rounded = column.cast(target, safe=False)
        if pa.types.is_float64(stored) and pa.types.is_float32(target):
            overflows = pc.and_(pc.is_inf(rounded), pc.invert(pc.is_inf(column)))
            if pc.any(overflows).as_py():
                raise pa.ArrowInvalid("the value is out of range")
        return rounded

    return convert


def _convert_to_enum(schema: Schema, target: pa.DataType) -> Conversion:
    import pyarrow as pa
    import pyarrow.compute as pc

    symbols = pa.array([*schema.symbols, None], target)

    def convert(column: pa.Array) -> pa.Array:
        texts = column.cast(target)
        if not pc.all(pc.is_in(texts, symbols)).as_py():
            raise pa.ArrowInvalid(f"the symbols are {', '.join(schema.symbols)}")
        return texts

    return convert


# -- logical types --------------------------------------------------------------------------


def _find_logical(stored: pa.DataType, schema: Schema, target: pa.DataType) -> Conversion | None:
    import pyarrow as pa

    kinds, logical = pa.types, schema.logical_type
    unit = "ms" if logical in _MILLIS else "us"
    if logical is LogicalType.DECIMAL:
        return _find_decimal(stored, target)
    if logical is LogicalType.DATE and kinds.is_date64(stored):
        return lambda column: pa.array(
            map(_to_proleptic, column.cast(pa.date32()).cast(pa.int32()).to_pylist()), target
        )
    if logical is LogicalType.DATE:
        is_day = kinds.is_date(stored) or kinds.is_int32(stored)
        return _cast(target) if is_day else None
    if logical in _TIMES:
        if kinds.is_time(stored):
            return _cast(target, pa.time64("ns"), pa.time64("us"))
        number = pa.int32() if unit == "ms" else pa.int64()
        time = pa.time32("ms") if unit == "ms" else pa.time64("us")
        return _cast(target, time) if stored == number else None
    if kinds.is_timestamp(stored):
        return _cast(target, pa.timestamp("us"))
    if logical in _INSTANTS:
        is_number = kinds.is_int64(stored) or kinds.is_int32(stored)
        steps = (pa.int64(), pa.timestamp(unit), pa.timestamp("us"))
        return _cast(target, *steps) if is_number else None
    return _parse_local_times(target) if kinds.is_string(stored) else None


def _to_proleptic(days: int | None) -> int | None:
    """Return the day of the Gregorian calendar that has the date of a day of the hybrid one.

    :param days: since 1970-01-01; those before 1582-10-15 have dates of the Julian calendar.
    :raises pyarrow.ArrowInvalid: for a date that only the Julian calendar has, such as 1500-02-29.
    """
    import pyarrow as pa

    if days is None or days >= _GREGORIAN:
        return days
    # The algorithm for Julian day numbers, whose years begin in March.
    number = days + 2_440_588 + 32_082
    year = (4 * number + 3) // 1461
    of_year = number - 1461 * year // 4
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    try:
        date = datetime.date(year - 4800 + month // 10, month + 3 - 12 * (month // 10), day)
    except ValueError as error:
        raise pa.ArrowInvalid(f"of the Julian calendar: {error}") from None
    return (date - datetime.date(1970, 1, 1)).days


def _parse_local_times(target: pa.DataType) -> Conversion:
    """Return a conversion of texts in ISO 8601 (CDAP 6 ``AvroToStructuredTransformer``)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def convert(column: pa.Array) -> pa.Array:
        if pc.all(pc.match_substring_regex(column, f"^{LOCAL_TIME}$")).as_py() is False:
            raise pa.ArrowInvalid("it is not in ISO-8601 format")
        return column.cast(target)

    return convert


def _find_decimal(stored: pa.DataType, target: pa.DataType) -> Conversion | None:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_decimal(stored):
        return _cast(target)
    if kinds.is_integer(stored):
        return _cast(target, pa.decimal128(20, 0))
    if kinds.is_binary(stored) or kinds.is_fixed_size_binary(stored):
        return lambda column: pa.array(
            [None if v is None else read_unscaled(v, target.scale) for v in column.to_pylist()],
            target,
        )
    return None


# -- nested types ---------------------------------------------------------------------------


def _find_nested(stored: pa.DataType, schema: Schema, target: pa.DataType) -> Conversion | None:
    import pyarrow as pa

    if stored == target:
        return _cast(target)
    if schema.items is not None and pa.types.is_list(stored):
        return _find_list(stored, schema.items, target)
    if schema.keys is not None and schema.values is not None and pa.types.is_map(stored):
        return _find_map(stored, schema.keys, schema.values, target)
    if pa.types.is_struct(stored):
        if schema.type is Type.RECORD:
            return _find_record(stored, [(f.name, f.schema) for f in schema], target)
        if schema.type is Type.UNION:
            members = [m.as_nullable for m in schema.members if m.type is not Type.NULL]
            return _find_record(
                stored, list(zip(list_union_tags(schema), members, strict=True)), target
            )
    return None


def _find_list(stored: pa.DataType, items: Schema, target: pa.DataType) -> Conversion | None:
    import pyarrow as pa

    convert = find_conversion(stored.value_type, items)
    if convert is None:
        return None
    convert_items = _require(convert, items)

    def convert_list(column: pa.Array) -> pa.Array:
        values = convert_items(column.flatten())
        return pa.ListArray.from_arrays(
            _measure_offsets(column), values, target, mask=column.is_null()
        )

    return convert_list


def _measure_offsets(column: pa.Array) -> pa.Array:
    """Return the offsets of the parts of a list that is neither sliced nor has parts under a null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(column), 0)
    return pa.concat_arrays(
        [pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())]
    )


def _find_map(
    stored: pa.DataType, keys: Schema, values: Schema, target: pa.DataType
) -> Conversion | None:
    import pyarrow as pa

    entries = pa.struct([pa.field("key", stored.key_type), pa.field("value", stored.item_type)])
    record = Schema.record("entry", [("key", keys), ("value", values)])
    convert = _find_list(pa.list_(entries), record, pa.list_(to_arrow_type(record)))
    if convert is None:
        return None

    def convert_map(column: pa.Array) -> pa.Array:
        pairs = convert(column.cast(pa.list_(entries)))
        parts = pairs.values
        return pa.MapArray.from_arrays(
            pairs.offsets, parts.field(0), parts.field(1), target, mask=pairs.is_null()
        )

    return convert_map


def _find_record(
    stored: pa.DataType, fields: list[tuple[str, Schema]], target: pa.DataType
) -> Conversion | None:
    import pyarrow as pa

    names = [field.name for field in stored]
    parts: list[Conversion | None] = []
    for name, schema in fields:
        if name not in names:
            if not schema.is_nullable:
                return None
            parts.append(None)
            continue
        part = find_conversion(stored.field(name).type, schema)
        if part is None:
            return None
        parts.append(_require(part, schema))

    def convert_record(column: pa.Array) -> pa.Array:
        valid = column.drop_null()
        columns = [
            pa.nulls(len(valid), field.type)
            if convert is None
            else convert(_get_member(valid, field.name))
            for convert, field in zip(parts, target, strict=True)
        ]
        records = pa.StructArray.from_arrays(columns, fields=list(target))
        if len(valid) == len(column):
            return records
        indexes = pa.compute.cumulative_sum(column.is_valid().cast(pa.int32()))
        shifted = pa.compute.if_else(column.is_valid(), pa.compute.subtract(indexes, 1), None)
        return records.take(shifted)

    return convert_record


def _get_member(column: pa.StructArray, name: str) -> pa.Array:
    return column.flatten()[column.type.get_field_index(name)]
