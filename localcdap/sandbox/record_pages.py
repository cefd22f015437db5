"""Pages of records: parts of all records of a connection, one for each call of its connector."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.connector import PageRequest, PositionedRecords, RecordPage
from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.api.stage import Record

if TYPE_CHECKING:
    import pyarrow as pa

_CHUNK: Final = 2000
"""Records that are encoded at once."""
_MOST_BYTES: Final = 32 * 2**20
"""Of a page, as Arrow; the last chunk may exceed it."""


def take_page(stream: PositionedRecords, request: PageRequest, seconds: float) -> RecordPage:
    """Read records for some seconds, at least some of them if there are any.

    :raises BadRequestError: when the records have no columns.
    """
    import pyarrow as pa

    end = time.monotonic() + seconds
    records = itertools.islice(stream.records, request.limit)
    tables: list[pa.Table] = []
    rows, size, after, is_last = 0, 0, request.after, False
    while size < _MOST_BYTES and (not tables or time.monotonic() < end):
        chunk = list(itertools.islice(records, _CHUNK))
        if chunk:
            after = chunk[-1][0]
            tables.append(_encode([record for _, record in chunk], stream))
            rows += len(chunk)
            size += tables[-1].nbytes
        if len(chunk) < _CHUNK:
            is_last = rows < request.limit
            break
    if not tables and stream.schema is not None:
        tables = [pa.Table.from_batches([RecordCodec(stream.schema).encode([])])]
    return RecordPage(_write(tables), rows, after, is_last, stream.total, stream.version)


def _cast(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    import pyarrow as pa

    if pa.types.is_binary(column.type) and pa.types.is_string(type):
        texts = [None if each is None else _to_text(each) for each in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, type)])
    return column.cast(type, safe=False)


class SchemaMerger:
    """The schema to which the rows of several tables can be cast: the wider type of a column, text for types
    that have nothing in common. The type of a column without values does not count where another table has
    values.
    """

    def __init__(self) -> None:
        self._fields: dict[str, tuple[pa.Field, bool]] = {}
        """By name, and whether a table has values."""

    @property
    def schema(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([field for field, _ in self._fields.values()])

    def add(self, table: pa.Table) -> None:
        """Take the types of a table."""
        for field, column in zip(table.schema, table.columns, strict=True):
            found = field, column.null_count < len(column)
            before = self._fields.get(field.name)
            self._fields[field.name] = found if before is None else _merge(before, found)


def cast_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with the columns of a merged schema."""
    import pyarrow as pa

    columns = []
    for field in schema:
        place = table.schema.get_field_index(field.name)
        if place < 0:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
        else:
            columns.append(_cast(table.column(place), field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _merge(before: tuple[pa.Field, bool], other: tuple[pa.Field, bool]) -> tuple[pa.Field, bool]:
    import pyarrow as pa

    (known, had_values), (field, has_values) = before, other
    is_nullable = known.nullable or field.nullable
    if had_values != has_values:
        return (known if had_values else field).with_nullable(is_nullable), True
    if known.type != field.type:
        pair = [pa.schema([known]), pa.schema([field])]
        try:
            known = pa.unify_schemas(pair, promote_options="permissive").field(0)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            known = pa.field(known.name, pa.string())
    return known.with_nullable(is_nullable), had_values


def _encode(records: list[Record], stream: PositionedRecords) -> pa.Table:
    import pyarrow as pa

    schema = stream.schema
    if schema is None and stream.find_schema is not None:
        schema = stream.find_schema(records)
        if schema is not None:
            records = list(_fit(records, schema))
    if schema is None:
        raise BadRequestError("The records have no columns.", "Choose other data.")
    return pa.Table.from_batches([RecordCodec(schema).encode(records)])


def _fit(records: Sequence[Record], schema: Schema) -> Iterator[Record]:
    """Give the values of each column the type that was found for all of them."""
    converters: dict[Schema, Callable[[Any], Any]] = {Schema.STRING: _to_text, Schema.DOUBLE: float}
    convert = {
        each.name: converters[each.schema.non_nullable]
        for each in schema
        if each.schema.non_nullable in converters
    }
    for record in records:
        yield {
            name: value if value is None or name not in convert else convert[name](value)
            for name, value in record.items()
        }


def _to_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _write(tables: Sequence[pa.Table]) -> bytes:
    """Return the rows of some tables as an Arrow stream; nothing without a table."""
    import pyarrow as pa

    if not tables:
        return b""
    merger = SchemaMerger()
    for each in tables:
        merger.add(each)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, merger.schema) as stream:
        for each in tables:
            stream.write_table(cast_table(each, merger.schema))
    data: bytes = sink.getvalue().to_pybytes()
    return data
