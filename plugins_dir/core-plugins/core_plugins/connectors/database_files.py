"""The connectors DuckDB and SQLite: the tables of database files. No program need run for them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseRequest,
    Connector,
    ConnectorContext,
    PageRequest,
    PluginConfig,
    PositionedRecords,
    Record,
    RecordStream,
    SampleRequest,
    field,
    plugin,
)
from localcdap.api.errors import BadRequestError
from localcdap.api.sql_names import quote_identifier
from localcdap.plugin_lib.connectors.file_records import infer_schema
from localcdap.plugin_lib.connectors.tables import (
    describe_table,
    find_file_version,
    make_missing_error,
)

_ROWS: Final = 1000
_ROW_IDS: Final = ("rowid", "_rowid_", "oid")
"""The names of the key that SQLite gives each row; a column of the table may hide one of them."""


class DatabaseFileConfig(PluginConfig):
    """A file with a database."""

    path: str = field(
        "The file; a relative path is relative to the instance's folder. It is opened for reading only.",
        form="{path}",
        macro=True,
    )


@plugin(name="DuckDB", description="Browses and samples the tables of a DuckDB file.")
class DuckDBConnector(Connector):
    Config = DatabaseFileConfig
    config: DatabaseFileConfig

    def test(self, context: ConnectorContext) -> None:
        self._list_tables(context)

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        tables = self._list_tables(context)
        schema, _, table = (request.path or "").strip("/").partition("/")
        if not schema:
            names = sorted({schema for schema, _ in tables})
            return BrowseDetail(
                [BrowseEntity(name, f"/{name}", "schema", can_browse=True) for name in names]
            )
        found = [
            describe_table(f"/{schema}/{name}", rows)
            for (owner, name), rows in tables.items()
            if owner == schema and table in ("", name)
        ]
        if not found:
            raise make_missing_error(f"{schema}/{table}", (f"{a}/{b}" for a, b in tables))
        return BrowseDetail(found)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        schema, _, table = (request.path or "").strip("/").rpartition("/")
        opened = context.open_duckdb(context.resolve_path(self.config.path))
        return opened.read(schema or "main", table, request)

    def read_page(self, context: ConnectorContext, request: PageRequest) -> PositionedRecords:
        schema, _, table = (request.path or "").strip("/").rpartition("/")
        path = context.resolve_path(self.config.path)
        stream = context.open_duckdb(path).read_page(schema or "main", table, request)
        stream.version = find_file_version(path)
        return stream

    def _list_tables(self, context: ConnectorContext) -> dict[tuple[str, str], int | None]:
        opened = context.open_duckdb(context.resolve_path(self.config.path))
        return {(each.schema, each.name): each.rows for each in opened.list_tables()}


@plugin(name="SQLite", description="Browses and samples the tables of an SQLite file.")
class SQLiteConnector(Connector):
    Config = DatabaseFileConfig
    config: DatabaseFileConfig

    def test(self, context: ConnectorContext) -> None:
        with contextlib.closing(self._open(context)) as database:
            _list_tables(database)

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        wanted = (request.path or "").strip("/")
        with contextlib.closing(self._open(context)) as database:
            tables = _list_tables(database)
            if wanted and wanted not in tables:
                raise make_missing_error(wanted, tables)
            return BrowseDetail(
                [
                    describe_table(f"/{name}", _count(database, name), tables[name])
                    for name in ([wanted] if wanted else tables)
                ]
            )

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        table = (request.path or "").strip("/")
        database = self._open(context)
        tables = _list_tables(database)
        if table not in tables:
            raise make_missing_error(table, tables)
        total = _count(database, table)
        return RecordStream(_read(database, table), total=total, find_schema=infer_schema)

    def read_page(self, context: ConnectorContext, request: PageRequest) -> PositionedRecords:
        table = (request.path or "").strip("/")
        database = self._open(context)
        tables = _list_tables(database)
        if table not in tables:
            raise make_missing_error(table, tables)
        return PositionedRecords(
            _read_after(database, table, request),
            total=_count(database, table) if request.after is None else None,
            version=find_file_version(context.resolve_path(self.config.path)),
            find_schema=infer_schema,
        )

    def _open(self, context: ConnectorContext) -> sqlite3.Connection:
        """Open the file for reading.

        :raises BadRequestError: when the file does not exist, or is not a database.
        """
        path = context.resolve_path(self.config.path)
        if not Path(path).is_file():
            raise BadRequestError(f"There is no file '{path}'.", "Correct the path.")
        try:
            return sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise BadRequestError(f"'{path}' cannot be opened as SQLite: {error}.") from None


def _list_tables(database: sqlite3.Connection) -> dict[str, str]:
    """Return the types of tables and views, by name."""
    query = (
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    try:
        return dict(database.execute(query).fetchall())
    except sqlite3.Error as error:
        raise BadRequestError(
            f"The file cannot be read as SQLite: {error}.", "Name an SQLite file."
        ) from None


def _count(database: sqlite3.Connection, table: str) -> int | None:
    """Return the number of rows; None for a view that cannot be read."""
    try:
        row = database.execute(f"SELECT count(*) FROM {quote_identifier(table)}").fetchone()  # noqa: S608
    except sqlite3.Error:
        return None
    return int(row[0])


def _read(database: sqlite3.Connection, table: str) -> Iterator[Record]:
    query = f"SELECT 0, * FROM {quote_identifier(table)}"  # noqa: S608 - it is quoted
    return (record for _, record in _fetch(database, table, query, ()))


def _read_after(
    database: sqlite3.Connection, table: str, request: PageRequest
) -> Iterator[tuple[int, Record]]:
    """Yield the records after a position, with theirs: the key of the row, or its number where a view or a
    table has none.
    """
    name, limit = quote_identifier(table), request.limit
    key = _find_row_id(database, table)
    if key is None:
        after = int(request.after or 0)
        query = f"SELECT 0, * FROM {name} LIMIT ? OFFSET ?"  # noqa: S608 - it is quoted
        found = _fetch(database, table, query, (limit, after))
        yield from ((number, record) for number, (_, record) in enumerate(found, after + 1))
        return
    where, values = ("", ()) if request.after is None else (f"WHERE {key} > ?", (request.after,))
    query = f"SELECT {key}, * FROM {name} {where} ORDER BY {key} LIMIT ?"  # noqa: S608 - it is quoted
    yield from _fetch(database, table, query, (*values, limit))


def _find_row_id(database: sqlite3.Connection, table: str) -> str | None:
    """Return a name of the key that SQLite gives the rows of a table; None where they have none."""
    if _list_tables(database)[table] != "table":
        return None
    columns = database.execute(f"SELECT * FROM {quote_identifier(table)} LIMIT 0").description  # noqa: S608
    hidden = {each[0].lower() for each in columns}
    for name in _ROW_IDS:
        if name not in hidden:
            try:
                database.execute(f"SELECT {name} FROM {quote_identifier(table)} LIMIT 0")  # noqa: S608
            except sqlite3.Error:  # a table WITHOUT ROWID
                return None
            return name
    return None


def _fetch(
    database: sqlite3.Connection, table: str, query: str, values: Sequence[int | str]
) -> Iterator[tuple[int, Record]]:
    """Yield the first column of a query, and a record of the others. The database is closed at the end."""
    with contextlib.closing(database):
        try:
            rows = database.execute(query, values)
            names = [each[0] for each in rows.description[1:]]
            while batch := rows.fetchmany(_ROWS):
                yield from ((row[0], dict(zip(names, row[1:], strict=True))) for row in batch)
        except sqlite3.Error as error:
            raise BadRequestError(f"Table '{table}' cannot be read: {error}.") from None
