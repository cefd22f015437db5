"""Other DuckDB files than the instance's own: opened for reading, listed, and sampled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.arrow import RecordCodec, from_arrow_schema
from localcdap.api.connector import (
    DatabaseTable,
    PageRequest,
    PositionedRecords,
    RecordStream,
    SampleRequest,
)
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.sql_names import quote_identifier
from localcdap.api.stage import Record
from localcdap.store.columns import build_sample_query
from localcdap.store.database_errors import extract_first_line
from localcdap.text import format_available

if TYPE_CHECKING:
    import duckdb

_BATCH_ROWS: Final = 1024
_LIST: Final = """
SELECT schema_name, table_name, true FROM duckdb_tables()
WHERE NOT internal AND database_name = current_database()
UNION ALL
SELECT schema_name, view_name, false FROM duckdb_views()
WHERE NOT internal AND database_name = current_database()
ORDER BY 1, 2
"""


class OpenedDatabase:
    """A :class:`localcdap.api.connector.FileDatabase`. One thread uses it.

    Nothing is written, and nothing that its views name outside of the file is read.

    :raises BadRequestError: when the file is not a DuckDB database, is in use, or is of another version.
    """

    def __init__(self, path: str, memory_mb: int = 256) -> None:
        import duckdb  # the Python part of the package is needed for Arrow batches

        if not Path(path).is_file():
            raise BadRequestError(f"There is no file '{path}'.", "Correct the path.")
        self._error: type[Exception] = duckdb.Error
        config: dict[str, Any] = {
            "enable_external_access": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "temp_directory": "",
            "threads": 1,
            "memory_limit": f"{memory_mb}MB",
        }
        try:
            self._connection: duckdb.DuckDBPyConnection = duckdb.connect(
                path, read_only=True, config=config
            )
        except duckdb.Error as error:
            raise BadRequestError(
                f"'{path}' cannot be opened as a DuckDB database: {extract_first_line(error)}",
                "Check the file; if another program has it open for writing, end that program.",
            ) from None

    def list_tables(self) -> list[DatabaseTable]:
        """See :meth:`localcdap.api.connector.FileDatabase.list_tables`."""
        return [
            DatabaseTable(schema, name, self._count(schema, name) if is_table else None)
            for schema, name, is_table in self._connection.execute(_LIST).fetchall()
        ]

    def read(self, schema: str, table: str, request: SampleRequest) -> RecordStream:
        """See :meth:`localcdap.api.connector.FileDatabase.read`."""
        query = build_sample_query(self._find_table(schema, table), request)
        reader = self._execute(query.sql, query.parameters, table)
        found = from_arrow_schema(reader.schema)
        return RecordStream(
            self._decode(reader, RecordCodec(found), table),
            found,
            self._count(schema, table),
            is_sampled=query.is_sampled,
        )

    def read_page(self, schema: str, table: str, request: PageRequest) -> PositionedRecords:
        """See :meth:`localcdap.api.connector.FileDatabase.read_page`."""
        after = int(request.after or 0)
        query = f"SELECT * FROM {self._find_table(schema, table)} LIMIT ? OFFSET ?"  # noqa: S608 - quoted
        reader = self._execute(query, [request.limit, after], table)
        found = from_arrow_schema(reader.schema)
        total = self._count(schema, table) if request.after is None else None
        records = self._decode(reader, RecordCodec(found), table)
        return PositionedRecords(enumerate(records, after + 1), found, total)

    def _find_table(self, schema: str, table: str) -> str:
        """Return the quoted name of a table.

        :raises NotFoundError: when there is none.
        """
        known = {(owner, name) for owner, name, _ in self._connection.execute(_LIST).fetchall()}
        if (schema, table) not in known:
            names = sorted(f"{a}.{b}" for a, b in known)
            shown = format_available(table, names)
            raise NotFoundError(
                f"There is no table '{schema}.{table}' in the file; available: {shown}."
            )
        return quote_identifier(schema, table)

    def _execute(self, query: str, parameters: list[Any], table: str) -> Any:
        try:
            return self._connection.execute(query, parameters).to_arrow_reader(_BATCH_ROWS)
        except self._error as error:
            raise self._make_error(table, error) from None

    def _decode(self, reader: Any, codec: RecordCodec, table: str) -> Iterator[Record]:
        try:
            for batch in reader:
                yield from codec.decode(batch)
        except (self._error, OSError) as error:
            raise self._make_error(table, error) from None

    def _count(self, schema: str, table: str) -> int:
        query = f"SELECT count(*) FROM {quote_identifier(schema, table)}"  # noqa: S608 - it is quoted
        try:
            row = self._connection.cursor().execute(query).fetchone()
        except self._error as error:
            raise self._make_error(table, error) from None
        return int(row[0]) if row is not None else 0

    def _make_error(self, table: str, error: Exception) -> BadRequestError:
        return BadRequestError(f"Table '{table}' cannot be read: {extract_first_line(error)}")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
