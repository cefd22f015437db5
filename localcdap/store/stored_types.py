"""The results of queries in types that the columns of tables can have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import QueryError
from localcdap.api.sql_names import quote_identifier

if TYPE_CHECKING:
    import duckdb

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
