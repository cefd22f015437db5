"""Schemas and records as Arrow: the form in which data moves between stages and Python code.

A union of several non-null types is a struct with one nullable member per alternative, of which exactly
one (or, for a null value, the struct itself) is set. Everything else maps to the Arrow type of the same
meaning.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import SchemaError, StageError
from localcdap.api.schema import LogicalType, Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

MAX_DECIMAL_PRECISION: Final = 38
"""The most digits of a decimal that Arrow's decimal128 and Spark can hold."""

_Convert = Callable[[Any], Any]


def union_tags(union: Schema) -> list[str]:
    """Member names of the struct that stands for a union, one for each non-null alternative.

    A tag is the lower-case type, the logical type, or the record's name; repeated ones are numbered.
    """
    tags: list[str] = []
    for member in union.members:
        if member.type is Type.NULL:
            continue
        tag = (member.name or "record") if member.type is Type.RECORD else member.display_name
        tags.append(tag if tag not in tags else f"{tag}_{len(tags)}")
    return tags


def is_proper_union(schema: Schema) -> bool:
    """Whether the schema is a union of more than one non-null type."""
    return schema.type is Type.UNION and schema.non_nullable.type is Type.UNION


def arrow_type(schema: Schema) -> pa.DataType:
    """The Arrow type of a value.

    :raises SchemaError: for what Arrow and Spark cannot hold: recursive records, decimals with more
        than 38 digits.
    """
    import pyarrow as pa

    inner = schema.non_nullable
    if inner.logical_type is not None:
        return _logical_type(inner)
    match inner.type:
        case Type.ARRAY if inner.items is not None:
            return pa.list_(_arrow_field("element", inner.items))
        case Type.MAP if inner.keys is not None and inner.values is not None:
            return pa.map_(arrow_type(inner.keys), _arrow_field("value", inner.values))
        case Type.RECORD:
            if inner.fields is None:
                raise SchemaError(
                    f"Record '{inner.name}' contains itself; recursive records cannot be run."
                )
            return pa.struct([_arrow_field(f.name, f.schema) for f in inner.fields])
        case Type.UNION:
            members = [m for m in inner.members if m.type is not Type.NULL]
            pairs = zip(union_tags(inner), members, strict=True)
            return pa.struct([pa.field(tag, arrow_type(m), nullable=True) for tag, m in pairs])
        case _:
            return _simple_types()[inner.type]


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of a batch of records."""
    import pyarrow as pa

    return pa.schema([_arrow_field(f.name, f.schema) for f in schema])


def _arrow_field(name: str, schema: Schema) -> pa.Field:
    import pyarrow as pa

    nullable = schema.is_nullable or schema.type is Type.NULL
    return pa.field(name, arrow_type(schema), nullable=nullable)


@lru_cache(maxsize=1)
def _simple_types() -> dict[Type, pa.DataType]:
    import pyarrow as pa

    return {
        Type.NULL: pa.null(),
        Type.BOOLEAN: pa.bool_(),
        Type.INT: pa.int32(),
        Type.LONG: pa.int64(),
        Type.FLOAT: pa.float32(),
        Type.DOUBLE: pa.float64(),
        Type.BYTES: pa.binary(),
        Type.STRING: pa.string(),
        Type.ENUM: pa.string(),
    }


def _logical_type(schema: Schema) -> pa.DataType:
    import pyarrow as pa

    match schema.logical_type:
        case LogicalType.DATE:
            return pa.date32()
        case LogicalType.TIME_MILLIS | LogicalType.TIME_MICROS:
            return pa.time64("ns")
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return pa.timestamp("us", tz="UTC")
        case LogicalType.DATETIME:
            return pa.timestamp("us")
        case _:
            precision, scale = schema.precision or 0, schema.scale or 0
            if precision > MAX_DECIMAL_PRECISION:
                raise SchemaError(
                    f"A decimal of {precision} digits cannot be run; the most is "
                    f"{MAX_DECIMAL_PRECISION}."
                )
            return pa.decimal128(precision, scale)


class RecordCodec:
    """Turns batches into records and records into batches, for one schema.

    Reading is strict about nothing, since the engine made the batch; writing checks every value and
    says which field of which record is wrong.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema: Final = schema
        self.arrow: Final = arrow_schema(schema)
        self._decoders = {f.name: d for f in schema if (d := _decoder(f.schema)) is not None}
        self._encoders = {f.name: e for f in schema if (e := _encoder(f.schema)) is not None}
        self._required = [f.name for f in schema if not _allows_null(f.schema)]

    def decode(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """The records of a batch."""
        records: list[dict[str, Any]] = batch.to_pylist()
        for name, decode in self._decoders.items():
            for record in records:
                value = record[name]
                if value is not None:
                    record[name] = decode(value)
        return records

    def encode(self, records: Iterable[dict[str, Any]]) -> pa.RecordBatch:
        """A batch of the records. Fields that the schema lacks are left out; absent ones are null.

        :raises StageError: (without a stage) when a value does not fit; the message names field, value
            and the type that was expected.
        """
        import pyarrow as pa

        rows = list(records)
        columns = []
        for field in self.arrow:
            values = [row.get(field.name) for row in rows]
            encode = self._encoders.get(field.name)
            if encode is not None:
                values = [None if v is None else encode(v) for v in values]
            columns.append(self._column(field, values))
        for name in self._required:
            if columns[self.arrow.get_field_index(name)].null_count:
                raise StageError(
                    f"Field '{name}' is null in a record, but its schema does not allow null.",
                    f"Give '{name}' a value, or make it nullable in the output schema.",
                )
        return pa.RecordBatch.from_arrays(columns, schema=self.arrow)

    def _column(self, field: pa.Field, values: list[Any]) -> pa.Array:
        import pyarrow as pa

        try:
            return pa.array(values, type=field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            wrong = next((v for v in values if not _fits(v, field.type)), None)
            declared = self.schema.field(field.name)
            wanted = declared.schema.display_name if declared else str(field.type)
            raise StageError(
                f"Field '{field.name}' must be of type {wanted}, but a record holds "
                f"{_shown(wrong)} ({type(wrong).__name__})."
            ) from None


def _fits(value: Any, type: pa.DataType) -> bool:
    import pyarrow as pa

    try:
        pa.array([value], type=type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _allows_null(schema: Schema) -> bool:
    return schema.is_nullable or schema.type is Type.NULL


def _decoder(schema: Schema) -> _Convert | None:
    """What turns a non-null value out of ``to_pylist`` into a record's value; None for nothing."""
    inner = schema.non_nullable
    match inner.type:
        case Type.UNION:
            return _union_decoder(inner)
        case Type.ARRAY if inner.items is not None:
            return _list_mapper(_decoder(inner.items))
        case Type.MAP if inner.values is not None:
            item = _decoder(inner.values)
            if item is None:
                return dict
            return lambda pairs: {k: None if v is None else item(v) for k, v in pairs}
        case Type.RECORD:
            return _struct_mapper({f.name: _decoder(f.schema) for f in inner})
    return None


def _encoder(schema: Schema) -> _Convert | None:
    """What turns a non-null record value into one that Arrow takes; None for nothing."""
    inner = schema.non_nullable
    match inner.type:
        case Type.UNION:
            return _union_encoder(inner)
        case Type.ARRAY if inner.items is not None:
            return _list_mapper(_encoder(inner.items))
        case Type.MAP if inner.values is not None:
            item = _encoder(inner.values)
            if item is None:
                return lambda mapping: list(mapping.items())
            return lambda mapping: [(k, None if v is None else item(v)) for k, v in mapping.items()]
        case Type.RECORD:
            return _struct_mapper({f.name: _encoder(f.schema) for f in inner})
    return None


def _list_mapper(item: _Convert | None) -> _Convert | None:
    if item is None:
        return None
    return lambda values: [None if v is None else item(v) for v in values]


def _struct_mapper(members: dict[str, _Convert | None]) -> _Convert | None:
    needed = {name: convert for name, convert in members.items() if convert is not None}
    if not needed:
        return None

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        changed = dict(value)
        for name, convert_member in needed.items():
            if changed.get(name) is not None:
                changed[name] = convert_member(changed[name])
        return changed

    return convert


def _union_decoder(union: Schema) -> _Convert:
    decoders = {
        tag: _decoder(member)
        for tag, member in zip(union_tags(union), _choices(union), strict=True)
    }

    def decode(value: dict[str, Any]) -> Any:
        for tag, member in value.items():
            if member is not None:
                convert = decoders[tag]
                return member if convert is None else convert(member)
        return None

    return decode


def _union_encoder(union: Schema) -> _Convert:
    tags = union_tags(union)
    alternatives = [
        (tag, member, _encoder(member)) for tag, member in zip(tags, _choices(union), strict=True)
    ]

    def encode(value: Any) -> dict[str, Any]:
        for tag, member, convert in alternatives:
            if matches(value, member):
                return {tag: value if convert is None else convert(value)}
        raise StageError(f"{_shown(value)} is none of the types {', '.join(tags)} of the union.")

    return encode


def _choices(union: Schema) -> list[Schema]:
    return [m for m in union.members if m.type is not Type.NULL]


_INT_RANGE: Final = (-(2**31), 2**31 - 1)


def matches(value: Any, schema: Schema) -> bool:
    """Whether a record value is of the schema's type, as needed to choose a member of a union."""
    if value is None:
        return _allows_null(schema)
    if schema.logical_type is not None:
        return isinstance(value, _LOGICAL_CLASSES[schema.logical_type])
    match schema.type:
        case Type.BOOLEAN:
            return isinstance(value, bool)
        case Type.INT:
            return _is_int(value) and _INT_RANGE[0] <= value <= _INT_RANGE[1]
        case Type.LONG:
            return _is_int(value)
        case Type.FLOAT | Type.DOUBLE:
            return isinstance(value, float)
        case Type.STRING:
            return isinstance(value, str)
        case Type.ENUM:
            return isinstance(value, str) and value in schema.symbols
        case Type.BYTES:
            return isinstance(value, (bytes, bytearray, memoryview))
        case Type.ARRAY:
            return isinstance(value, (list, tuple))
        case Type.MAP:
            return isinstance(value, dict)
        case Type.RECORD:
            return isinstance(value, dict) and set(schema.field_names) >= set(value)
        case Type.UNION:
            return any(matches(value, member) for member in schema.members)
        case _:
            return False


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_LOGICAL_CLASSES: Final[dict[LogicalType, type]] = {
    LogicalType.DATE: datetime.date,
    LogicalType.TIME_MILLIS: datetime.time,
    LogicalType.TIME_MICROS: datetime.time,
    LogicalType.TIMESTAMP_MILLIS: datetime.datetime,
    LogicalType.TIMESTAMP_MICROS: datetime.datetime,
    LogicalType.DATETIME: datetime.datetime,
    LogicalType.DECIMAL: decimal.Decimal,
}
