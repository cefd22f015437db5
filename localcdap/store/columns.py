"""The DuckDB types of schemas, and quoting of SQL identifiers and strings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import MAX_DECIMAL_PRECISION, list_union_tags
from localcdap.api.connector import MOST_RECORDS, SampleRequest, SampleType
from localcdap.api.errors import QueryError, StoreError
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.api.sql_names import quote_identifier

if TYPE_CHECKING:
    import duckdb


_SIMPLE: Final = {
    Type.NULL: "INTEGER",  # a column that is always null; DuckDB files have no type for that
    Type.BOOLEAN: "BOOLEAN",
    Type.INT: "INTEGER",
    Type.LONG: "BIGINT",
    Type.FLOAT: "FLOAT",
    Type.DOUBLE: "DOUBLE",
    Type.BYTES: "BLOB",
    Type.STRING: "VARCHAR",
    Type.ENUM: "VARCHAR",
}
_LOGICAL: Final = {
    LogicalType.DATE: "DATE",
    LogicalType.TIME_MILLIS: "TIME",
    LogicalType.TIME_MICROS: "TIME",
    LogicalType.TIMESTAMP_MILLIS: "TIMESTAMPTZ",
    LogicalType.TIMESTAMP_MICROS: "TIMESTAMPTZ",
    LogicalType.DATETIME: "TIMESTAMP",
}


def to_column_type(schema: Schema) -> str:
    """Return the DuckDB type of a schema, which always allows null. A union is a STRUCT with one field per
    member, as in Arrow.

    :raises StoreError: for recursive records, decimals over 38 digits, and records whose field names
        differ in case only, which DuckDB treats as equal.
    """
    inner = schema.non_nullable
    if inner.logical_type is not None:
        return _LOGICAL.get(inner.logical_type) or _to_decimal_type(inner)
    match inner.type:
        case Type.ARRAY if inner.items is not None:
            return f"{to_column_type(inner.items)}[]"
        case Type.MAP if inner.keys is not None and inner.values is not None:
            return f"MAP({to_column_type(inner.keys)}, {to_column_type(inner.values)})"
        case Type.RECORD:
            if not inner.fields:
                raise StoreError(
                    f"Record '{inner.name}' is empty or contains itself; neither has a table."
                )
            return _to_struct_type(inner.field_names, [f.schema for f in inner])
        case Type.UNION:
            members = [m for m in inner.members if m.type is not Type.NULL]
            return _to_struct_type(list_union_tags(inner), members)
        case _:
            return _SIMPLE[inner.type]


def check_names(names: Sequence[str]) -> None:
    """Check that the names can be columns of one table.

    :raises StoreError: for an empty name, and for two names that differ in case only.
    """
    seen: dict[str, str] = {}
    for name in names:
        if not name or "\0" in name:
            raise StoreError(f"A field cannot be called {name!r} in a table.", "Rename the field.")
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise StoreError(
                f"Fields '{other}' and '{name}' differ in case only; a table treats them as equal.",
                "Rename one of them.",
            )


def _to_decimal_type(schema: Schema) -> str:
    precision, scale = schema.precision or 0, schema.scale or 0
    if not 0 <= scale <= precision <= MAX_DECIMAL_PRECISION:
        raise StoreError(
            f"A decimal of {precision} digits, {scale} of them after the point, has no column type; "
            f"the most is {MAX_DECIMAL_PRECISION} digits."
        )
    return f"DECIMAL({precision}, {scale})"


def _to_struct_type(names: Sequence[str], schemas: Sequence[Schema]) -> str:
    check_names(names)
    members = (
        f"{quote_identifier(n)} {to_column_type(s)}" for n, s in zip(names, schemas, strict=True)
    )
    return f"STRUCT({', '.join(members)})"


_BATCH_ROWS: Final = 8192
_STORED_AS: Final = {
    "HUGEINT": "BIGINT",  # the type of sums of integers
    "UHUGEINT": "BIGINT",
    "UBIGINT": "BIGINT",
    "UUID": "VARCHAR",
    "JSON": "VARCHAR",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP",
}
"""DuckDB types that a table cannot have, and the types that replace them."""


def list_stored_columns(columns: Sequence[tuple[str, str]]) -> str:
    """Return the expressions of a SELECT that convert columns, given as name and DuckDB type."""
    return ", ".join(
        f"CAST({quote_identifier(name)} AS {_STORED_AS[type]}) AS {quote_identifier(name)}"
        if type in _STORED_AS
        else quote_identifier(name)
        for name, type in columns
    )


def write_query(engine: duckdb.DuckDBPyConnection, label: str, source: str, file: Path) -> None:
    """Write the rows of a query into a Parquet file, converted to types that tables can have.

    :param label: what the rows are of, for messages.
    :param source: a query that begins with FROM.
    :raises QueryError: for a column of another type.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    held = engine.sql(source)
    columns = list(zip(held.columns, map(str, held.types), strict=True))
    found = engine.sql(f"SELECT {list_stored_columns(columns)} {source}")
    try:
        with (
            found.to_arrow_reader(_BATCH_ROWS) as reader,
            pq.ParquetWriter(file, reader.schema) as writer,
        ):
            for batch in reader:
                writer.write_batch(batch)
    except pa.ArrowNotImplementedError:
        types = ", ".join(f"{name} {type}" for name, type in columns)
        raise QueryError(
            f"{label} has a column of a type that tables cannot hold; it has {types}.",
            "Convert the column, for example to VARCHAR.",
        ) from None


class SampleQuery(msgspec.Struct, frozen=True):
    """A query in the SQL of DuckDB."""

    sql: str
    parameters: list[Any] = []
    is_sampled: bool = True
    """Whether its rows are the sample; otherwise they are the rows to take it from."""


def build_sample_query(table: str, request: SampleRequest) -> SampleQuery:
    """Return the query of a sample.

    Only the first 100,000 rows of a table are searched for rows that match a condition or fail.

    :param table: its quoted name.
    """
    select = f"SELECT * FROM {table}"  # noqa: S608 - the name is quoted
    limit = int(request.limit)
    match request.sampling_type:
        case SampleType.RANDOM:
            seed = int(request.seed or 0)
            chosen = f"USING SAMPLE reservoir({limit} ROWS) REPEATABLE ({seed})"
            return SampleQuery(f"{select} {chosen}")
        case SampleType.STRATIFIED:
            return SampleQuery(_build_stratified(table, request))
        case SampleType.MATCHING | SampleType.FAILING:
            return SampleQuery(f"{select} LIMIT {MOST_RECORDS}", is_sampled=False)
    return SampleQuery(f"{select} LIMIT {limit}")


def _build_stratified(table: str, request: SampleRequest) -> str:
    """Each value has its share of the rows, and at least one as far as the limit allows."""
    column = quote_identifier(request.strata or "")
    seed, limit = int(request.seed or 0), int(request.limit)
    numbered = f"SELECT *, row_number() OVER () AS __row FROM {table}"  # noqa: S608 - the name is quoted
    window = f"OVER (PARTITION BY {column}"
    placed = (
        f"SELECT *, row_number() {window} ORDER BY hash(__row, {seed})) AS __place, "  # noqa: S608
        f"count(*) {window}) AS __size, count(*) OVER () AS __all FROM ({numbered})"
    )
    return (
        f"SELECT * EXCLUDE (__row, __place, __size, __all) FROM ({placed}) "  # noqa: S608
        f"WHERE __place <= greatest(1, round({limit} * __size / __all)) "
        f"ORDER BY __place > 1, __place / __size, hash(__row, {seed}) LIMIT {limit}"
    )
