"""JSON files: an object on each line.

Arrow reads batches of lines in which each value has the form of its type and each name is exact; the other
batches, line by line, take some ten times as long. :mod:`localcdap.plugin_lib.json_values` has the rule.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    LogicalType,
    NoticeKind,
    Record,
    Schema,
    SourceContext,
    StageError,
    Type,
)
from localcdap.plugin_lib.differing_keys import DIFFERING, make_key_finder, remove_form
from localcdap.plugin_lib.files.readers.lines import FILE, VALUE
from localcdap.plugin_lib.json_values import Convert, JsonObject, decode_json, make_json_converter

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_SHOWN: Final = 200
_KEY: Final = "__key"
_LARGEST_PIECE: Final = 1 << 30
"""The most bytes that Arrow reads at once."""
_TIMESTAMPS: Final = (LogicalType.TIMESTAMP_MILLIS, LogicalType.TIMESTAMP_MICROS)
_DATES: Final = (datetime.date.min, datetime.date.max)
_MOMENTS: Final = tuple(
    moment.replace(tzinfo=datetime.UTC) for moment in (datetime.datetime.min, datetime.datetime.max)
)
_LIMITS: Final[dict[LogicalType | None, tuple[datetime.date, ...]]] = {
    LogicalType.DATE: _DATES,
    **dict.fromkeys(_TIMESTAMPS, _MOMENTS),
}


def parse_json_lines(
    context: SourceContext, lines: DataFrame, schema: Schema, *, with_file: bool
) -> DataFrame:
    """Parse lines (columns :data:`VALUE` and :data:`FILE`) into the fields of the schema.

    Blank lines are ignored. The run fails if a line is not exactly one object, or a value does not fit its
    field, even if no stage reads that field.

    :param with_file: whether the result has the column :data:`FILE`, too.
    """
    from pyspark.sql import functions as F  # noqa: N812

    fields = [(f.name, f.schema) for f in schema]
    fields += [(FILE, Schema.STRING)] if with_file else []
    fields += [(_KEY, Schema.STRING.as_nullable)]
    filled = lines.filter(F.col(VALUE).rlike(r"\S")).select(VALUE, FILE)
    read = LineReader(schema, with_file=with_file)
    rows = context.in_batches(filled, read, Schema.record(schema.name or "record", fields))
    key = F.col(_KEY)
    rows = context.observe_altered(rows, DIFFERING, key.isNotNull(), key, kind=NoticeKind.KEYS)
    return rows.drop(_KEY)


class LineReader:
    """Reads batches of lines as batches of records.

    Their last column, :data:`_KEY`, says which key of the line differs from a field by case or blanks only,
    and where; null for most lines.

    :param with_file: whether the records have the file of their line as the column before.
    """

    def __init__(self, schema: Schema, *, with_file: bool) -> None:
        self._schema, self._with_file = schema, with_file

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a batch of records for each batch of lines.

        :raises StageError: for the first line that cannot be read, with its file, the field and the value.
        """
        import pyarrow as pa

        from localcdap.api.arrow import RecordCodec

        find_key = make_key_finder(self._schema)
        codec, convert = RecordCodec(self._schema), make_json_converter(self._schema, "")
        forms = [_find_arrow_type(self._schema, is_text) for is_text in (False, True)]
        for batch in batches:
            lines, files = batch.column(0), batch.column(1)
            records = None
            for form in [f for f in forms if f is not None and batch.num_rows]:
                records = _read_by_arrow(lines, self._schema, form, codec.arrow)
                if records is not None:
                    forms.sort(key=lambda other: other is not form)  # the next batch has it, too
                    break
            keys: pa.Array = pa.nulls(batch.num_rows, pa.string())
            if records is None:
                found: list[str | None] = []
                records = codec.encode(_read_each(lines, files, convert, find_key, found))
                keys = pa.array(found, pa.string())
            records = records.append_column(FILE, files) if self._with_file else records
            yield records.append_column(_KEY, keys)


def _read_each(
    lines: pa.Array,
    files: pa.Array,
    convert: Convert,
    find_key: Callable[[Any], str | None] | None,
    found: list[str | None],
) -> Iterator[Record]:
    """Yield the record of each line.

    :param found: to which :data:`_KEY` of each line is added.
    """
    for number, line in enumerate(lines.to_pylist()):
        problem = "A line is not one JSON object"
        try:
            document = decode_json(line)
            problem = "Values do not fit their fields" if type(document) is JsonObject else problem
            record = convert(document)
        except ValueError as error:
            raise StageError(
                f"{problem}: {error}. File: {files[number]}; line: {line[:_SHOWN]}",
                "Correct the file, or the type of the field in the schema.",
            ) from None
        key = None if find_key is None else find_key(document)
        found.append(key and f"{key}. File: {files[number]}; line: {line[:_SHOWN]}")
        yield record


def _read_by_arrow(
    lines: pa.Array, schema: Schema, form: pa.DataType, target: pa.Schema
) -> pa.RecordBatch | None:
    """Return the records of lines; None unless they are certain to be those that are read line by line."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import json

    # With braces at both ends of each line, no object goes on in the next one.
    in_braces = pc.and_(pc.starts_with(lines, "{"), pc.ends_with(lines, "}"))
    if lines.nbytes > _LARGEST_PIECE or not pc.all(in_braces).as_py():
        return None
    whole = pa.ListArray.from_arrays([0, len(lines)], lines.cast(pa.string()))
    text = pc.binary_join(whole, "\n")[0].as_buffer()
    try:
        table = json.read_json(
            pa.BufferReader(text),
            read_options=json.ReadOptions(use_threads=False, block_size=text.size + 1),
            parse_options=json.ParseOptions(explicit_schema=pa.schema(list(form))),
        )
        if table.num_rows != len(lines):
            return None
        records = table.combine_chunks().to_struct_array().combine_chunks()
        if not _is_certain(records, schema):
            return None
        columns = [records.field(f.name).cast(f.type) for f in target]
    except pa.ArrowException:
        return None
    batch = pa.RecordBatch.from_arrays(columns, schema=target)
    # What the casts made: narrowed numbers may be infinite, and dates beyond those of Python.
    return batch if _is_certain(batch.to_struct_array(), schema) else None


def _find_arrow_type(schema: Schema, is_text: bool) -> pa.DataType | None:
    """Return the type that Arrow reads of JSON; None when the rule is not Arrow's.

    :param is_text: for dates, timestamps and decimals as earlier versions wrote them.
    """
    import pyarrow as pa

    inner = schema.non_nullable
    match inner.type:
        case Type.RECORD:
            parts = [(f.name, _find_arrow_type(f.schema, is_text)) for f in inner]
            return None if any(part is None for _, part in parts) else pa.struct(parts)
        case Type.ARRAY if inner.items is not None:
            items = _find_arrow_type(inner.items, is_text)
            return None if items is None else pa.list_(items)
    if inner.logical_type is LogicalType.DATE:
        return pa.string() if is_text else pa.int32()
    if inner.logical_type in _TIMESTAMPS and is_text:
        return pa.timestamp("us", "UTC")
    if inner.logical_type is LogicalType.TIMESTAMP_MICROS:
        return pa.int64()
    if inner.logical_type is not None:
        return None
    simple: dict[Type, pa.DataType] = {
        Type.BOOLEAN: pa.bool_(),
        Type.INT: pa.int32(),
        Type.LONG: pa.int64(),
        Type.FLOAT: pa.float64(),  # Java narrows doubles, too
        Type.DOUBLE: pa.float64(),
        Type.STRING: pa.string(),
        Type.ENUM: pa.string(),
    }
    return simple.get(inner.type)


def _is_certain(values: pa.Array, schema: Schema) -> bool:
    """Return whether no null is wrong, no number infinite, and no further member resembles a field."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if values.null_count and not schema.is_nullable:
        return False
    inner = schema.non_nullable
    if inner.type is Type.RECORD:
        names = {remove_form(name) for name in inner.field_names}
        members = [member.name for member in values.type]
        if any(remove_form(m) in names for m in members if inner.field(m) is None):
            return False
        return all(_is_certain(values.field(f.name), f.schema) for f in inner)
    if inner.type is Type.ARRAY and inner.items is not None:
        return _is_certain(values.values, inner.items)
    if pa.types.is_floating(values.type):
        return bool(pc.all(pc.is_finite(values), min_count=0).as_py())
    if not pa.types.is_temporal(values.type):
        return True
    least, most = (pa.scalar(limit, values.type) for limit in _LIMITS[inner.logical_type])
    is_inside = pc.and_(pc.greater_equal(values, least), pc.less_equal(values, most))
    return bool(pc.all(is_inside, min_count=0).as_py())
