"""The connectors DuckDB and SQLite: the tables of database files. No program need run for them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseRequest,
    Connector,
    ConnectorContext,
    PluginConfig,
    Record,
    RecordStream,
    SampleRequest,
    field,
    plugin,
)
from localcdap.api.errors import BadRequestError
from localcdap.plugin_lib.connectors.file_records import infer_schema
from localcdap.plugin_lib.connectors.tables import describe_table, make_missing_error

_ROWS: Final = 1000


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


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _count(database: sqlite3.Connection, table: str) -> int | None:
    """Return the number of rows; None for a view that cannot be read."""
    try:
        row = database.execute(f"SELECT count(*) FROM {_quote(table)}").fetchone()  # noqa: S608
    except sqlite3.Error:
        return None
    return int(row[0])


def _read(database: sqlite3.Connection, table: str) -> Iterator[Record]:
    with contextlib.closing(database):
        try:
            rows = database.execute(f"SELECT * FROM {_quote(table)}")  # noqa: S608 - it is quoted
            names = [each[0] for each in rows.description]
            while batch := rows.fetchmany(_ROWS):
                yield from (dict(zip(names, row, strict=True)) for row in batch)
        except sqlite3.Error as error:
            raise BadRequestError(f"Table '{table}' cannot be read: {error}.") from None
