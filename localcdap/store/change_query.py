"""Statements of a user that change tables, carried out on copies in a DuckDB of their own.

As in :mod:`localcdap.store.query` they reach nothing but what is handed in. The tables that they change
are copied there; what has become of them comes out as Parquet files, for the caller to put in place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.errors import QueryError
from localcdap.store.columns import quote_identifier
from localcdap.store.query import Query, QueryLimits, QueryTable
from localcdap.store.store import Store

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_BATCH_ROWS: Final = 8192
_KINDS: Final = (
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE_INTO",
    "CREATE",
    "DROP",
    "ALTER",
)
"""Kinds of statements that are taken, as DuckDB calls them; TRUNCATE is a DELETE."""
_STORED_AS: Final = {
    "HUGEINT": "BIGINT",  # what sums of integers are
    "UHUGEINT": "BIGINT",
    "UBIGINT": "BIGINT",
    "UUID": "VARCHAR",
    "JSON": "VARCHAR",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "TIMESTAMP_NS": "TIMESTAMP",
}
"""Types that tables have no columns of, and those that take their values."""


class ChangedTable(msgspec.Struct):
    """What has become of a table."""

    name: str
    file: Path | None
    """Its rows, as Parquet; None when it is no longer there."""
    nullable: dict[str, bool]
    """By column, whether it may be null."""


class ChangeResult(msgspec.Struct):
    """What statements have done."""

    tables: list[ChangedTable]
    """Those that were to be changed, and those that are new."""
    rows: int
    """Of the last statement: found by a query, changed by another one."""
    first: Any
    """A ``pyarrow.Table`` of the first row that the last query found; without rows when there was none."""


class ChangeQuery(Query):
    """Statements, one after the other; the first that fails ends them. See :class:`Query`.

    :param statements: in the SQL of DuckDB, each a single one.
    :param required: by name of a table to change, its columns that must not be null; tables that are not
        there yet need not be named.
    """

    def __init__(
        self,
        statements: Sequence[str],
        required: Mapping[str, Sequence[str]],
        limits: QueryLimits,
    ) -> None:
        super().__init__("", limits)
        self._statements = statements
        self._required = required

    def carry_out(
        self, store: Store, tables: Sequence[QueryTable], schema: str, directory: Path
    ) -> ChangeResult:
        """Run the statements.

        :param tables: those that the statements see, all of one schema.
        :param directory: where the files of changed tables go; it exists.
        :raises QueryError: when a statement is wrong, was cancelled, or takes more than its limits.
        """

        def work(engine: duckdb.DuckDBPyConnection) -> ChangeResult:
            for table in tables:
                if table.name in self._required:
                    _copy(engine, table, self._required[table.name])
            rows, first = 0, None
            for statement in self._statements:
                self._sql = statement
                rows, found = _run(engine, statement)
                first = first if found is None else found
            self._sql = ""
            return ChangeResult(list(self._write_tables(engine, schema, directory)), rows, first)

        return self._within(store, tables, schema, work)

    @contextlib.contextmanager
    def _sandbox(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with super()._sandbox() as engine:
            engine.execute("SET TimeZone = 'UTC'")
            yield engine

    def _write_tables(
        self, engine: duckdb.DuckDBPyConnection, schema: str, directory: Path
    ) -> Iterator[ChangedTable]:
        columns: dict[str, list[tuple[str, str, bool]]] = {}
        for table, *column in engine.execute(_COLUMNS, [schema]).fetchall():
            columns.setdefault(table, []).append((column[0], column[1], column[2]))
        for number, (table, described) in enumerate(columns.items()):
            file = directory / f"{number}.parquet"
            _write(engine, table, described, file)
            yield ChangedTable(table, file, {name: nullable for name, _, nullable in described})
        for table in self._required.keys() - columns.keys():
            yield ChangedTable(table, None, {})


def _copy(engine: duckdb.DuckDBPyConnection, table: QueryTable, required: Sequence[str]) -> None:
    """Put a table in the place of the view."""
    name, source = (
        quote_identifier(table.schema, table.name),
        quote_identifier(f"{table.schema}.{table.name}"),
    )
    engine.execute(f"DROP VIEW {name}")
    engine.execute(f"CREATE TABLE {name} AS FROM {source}")
    for column in required:
        engine.execute(f"ALTER TABLE {name} ALTER {quote_identifier(column)} SET NOT NULL")


def _run(engine: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, pa.Table | None]:
    """How many rows a statement found or changed, and the first that a query found."""
    import pyarrow as pa

    kinds = [statement.type.name for statement in engine.extract_statements(sql)]
    if len(kinds) != 1 or kinds[0] not in _KINDS:
        raise QueryError(
            f"These are no statements to carry out: {', '.join(kinds) or 'nothing'}.",
            "Give single statements that query or change tables.",
        )
    if kinds != ["SELECT"]:
        changed = engine.execute(sql).fetchone()
        return (changed[0] if changed and isinstance(changed[0], int) else 0), None
    with engine.sql(sql).to_arrow_reader(_BATCH_ROWS) as reader:
        rows, first = 0, pa.Table.from_batches([], reader.schema)
        for batch in reader:
            if rows == 0 and batch.num_rows:
                first = pa.Table.from_batches([batch.slice(0, 1)])
            rows += batch.num_rows
        return rows, first


def _write(
    engine: duckdb.DuckDBPyConnection,
    table: str,
    columns: Sequence[tuple[str, str, bool]],
    file: Path,
) -> None:
    """Write the rows of a table, its columns of types that tables have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    shown = ", ".join(
        f"CAST({quote_identifier(name)} AS {_STORED_AS[type]}) AS {quote_identifier(name)}"
        if type in _STORED_AS
        else quote_identifier(name)
        for name, type, _ in columns
    )
    found = engine.sql(f"SELECT {shown} FROM {quote_identifier(table)}")  # noqa: S608
    try:
        with (
            found.to_arrow_reader(_BATCH_ROWS) as reader,
            pq.ParquetWriter(file, reader.schema) as writer,
        ):
            for batch in reader:
                writer.write_batch(batch)
    except pa.ArrowNotImplementedError:
        types = ", ".join(f"{name} {type}" for name, type, _ in columns)
        raise QueryError(
            f"Table '{table}' has a column of a type that tables cannot hold; it has {types}.",
            "Convert it, for instance to a text.",
        ) from None


_COLUMNS: Final = (
    "SELECT c.table_name, c.column_name, c.data_type, c.is_nullable FROM duckdb_columns() c "
    "JOIN duckdb_tables() t USING (schema_name, table_name) WHERE c.schema_name = ? "
    "ORDER BY c.table_name, c.column_index"
)
