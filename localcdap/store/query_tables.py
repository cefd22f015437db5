"""The tables and views that a query sees, as views in the query's own DuckDB.

A table of the instance is a view over Arrow streams from the store. A view of the instance is a view of
DuckDB with the same query. The query of a view was written by a user, so no other DuckDB ever executes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from localcdap.api.errors import LocalcdapError, QueryError
from localcdap.api.sql_names import quote_identifier
from localcdap.store.database_errors import extract_message
from localcdap.store.file_tables import (
    FileTable,
    UnnamedFiles,
    describe_columns,
    open_files,
)
from localcdap.store.wide_types import select_wide

if TYPE_CHECKING:
    import duckdb

    from localcdap.store.store import Transaction

_VIEW_SQL: Final = (
    "SELECT view_name, sql FROM duckdb_views() "
    "WHERE schema_name = ? AND NOT internal AND NOT temporary"
)


class QueryTable(msgspec.Struct, frozen=True):
    """A table or view that a query can read."""

    schema: str
    name: str
    source: str
    """The SQL identifier of the table in the store; of a view, its identifier in the query's DuckDB."""
    query: str | None = None
    """The query of a view, in which names without a schema are those of ``schema``; None for a table."""
    refusal: LocalcdapError | None = None
    """Why the caller may not read it; None when they may."""
    files: FileTable | None = None
    """The files of a file set; None for a table in the store and for a view."""
    is_named: bool = True
    """Whether a statement or view may read these files."""

    @property
    def rows_name(self) -> str:
        """The name of what is read in DuckDB. It begins like no table: it hides tables of that name."""
        return f"rows of {self.schema}.{self.name}"


class FileTables(Protocol):
    """The file sets that queries can read besides the tables of the store."""

    def list_tables(
        self,
        tx: Transaction,
        tables: Sequence[QueryTable],
        sql: Sequence[str] = (),
        namespace: str | None = None,
    ) -> list[QueryTable]:
        """Return the file sets; those that a statement or a view may read have their files.

        :param tables: the tables and views of the store, whose names take precedence.
        :param sql: the statements.
        :param namespace: only file sets of this namespace; None for all.
        """
        ...


class NoFileTables:
    """No file sets."""

    def list_tables(
        self,
        tx: Transaction,
        tables: Sequence[QueryTable],
        sql: Sequence[str] = (),
        namespace: str | None = None,
    ) -> list[QueryTable]:
        return []


class UnreadableTable:
    """A table or view that the caller may not read. Every statement that reads it fails.

    DuckDB scans this object, and asks for its columns whenever a statement reads it.
    """

    def __init__(self, view: QueryTable) -> None:
        self.view: Final = view
        self.was_read = False
        """Whether a statement has tried to read it."""
        self._raises = False

    @property
    def error(self) -> LocalcdapError:
        """The error of whatever reads it."""
        assert self.view.refusal is not None
        return self.view.refusal

    def register(self, engine: duckdb.DuckDBPyConnection) -> None:
        """Create a view that raises the error."""
        engine.register(self.view.rows_name, self)
        _create_view(engine, self.view, f"FROM {quote_identifier(self.view.rows_name)}")
        self._raises = True

    def retry(self, engine: duckdb.DuckDBPyConnection, unchanged: str) -> None:
        """Do nothing: no statement can lift the refusal."""

    def __arrow_c_schema__(self) -> object:
        import pyarrow as pa

        if self._raises:
            self.was_read = True
            raise self.error
        return pa.schema([("unreadable", pa.int32())]).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        self.was_read = True
        raise self.error


class UnreadableView(UnreadableTable):
    """A view whose query fails. Every statement that reads it fails too.

    :param reason: why the query fails.
    """

    def __init__(self, view: QueryTable, reason: str) -> None:
        super().__init__(view)
        self._reason = reason
        self._cause: UnreadableTable | None = None

    @property
    def error(self) -> LocalcdapError:
        """The error of whatever reads the view; if the view reads another unreadable one, that one's."""
        at, seen = self, {self.view}
        while at._cause is not None and at._cause.view not in seen:
            if not isinstance(at._cause, UnreadableView):
                return at._cause.error
            at = at._cause
            seen.add(at.view)
        return QueryError(
            f"View '{at.view.name}' cannot be read: {at._reason}",
            "Correct the view with CREATE OR REPLACE VIEW, or the tables that it reads.",
        )

    def find_cause(
        self, engine: duckdb.DuckDBPyConnection, others: Sequence[UnreadableTable]
    ) -> None:
        """Find out whether the query fails because it reads another unreadable view."""
        import duckdb

        assert self.view.query is not None
        engine.execute(f"SET schema = {quote_identifier(self.view.schema)}")
        try:
            engine.execute(f"EXPLAIN {self.view.query}")
        except duckdb.InterruptException:
            raise
        except duckdb.Error:
            self._cause = next((each for each in others if each.was_read), None)
        for each in others:
            each.was_read = False

    def retry(self, engine: duckdb.DuckDBPyConnection, unchanged: str) -> None:
        """Replace this object by the view if its query succeeds now, and the view was not changed.

        :param unchanged: the SQL of the view in DuckDB's catalog after :meth:`register`.
        """
        if list_view_sql(engine, self.view.schema).get(self.view.name) == unchanged:
            _try_create_view(engine, self.view, is_replaced=True)


class _Stream:
    """A table as an Arrow stream for DuckDB; each scan opens a new stream."""

    def __init__(
        self, stream: Callable[[str], Any], table: QueryTable, on_read: Callable[[QueryTable], None]
    ) -> None:
        self._stream = stream
        self._table = table
        self._on_read = on_read

    def __arrow_c_schema__(self) -> object:
        reader = self._stream(f"FROM {self._table.source} LIMIT 0")
        return reader.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        self._on_read(self._table)
        return self._stream(f"FROM {self._table.source}").__arrow_c_stream__(requested_schema)


def create_query_tables(
    engine: duckdb.DuckDBPyConnection,
    tables: Sequence[QueryTable],
    stream: Callable[[str], Any],
    schema: str,
    on_read: Callable[[QueryTable], None] = lambda _: None,
    *,
    widens: bool = False,
) -> list[UnreadableTable]:
    """Create the tables and views, make ``schema`` that of names without one, and lock the configuration.

    :param on_read: called with each table whose rows a statement begins to read, also through a view.
    :param widens: whether columns have 64 bits where those of the tables have fewer; in any case those of the
        tables that views read, which are BigQuery's.
    :returns: what the caller may not read, and the views whose query fails.
    """
    for name in dict.fromkeys([schema, *(table.schema for table in tables)]):
        engine.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_identifier(name)}")
    refused = [UnreadableTable(table) for table in tables if table.refusal is not None]
    for each in refused:
        each.register(engine)
    allowed = [table for table in tables if table.refusal is None]
    viewed = " ".join(table.query or "" for table in allowed).lower()
    for table in allowed:
        if table.query is not None:
            continue
        try:
            opened = _open(table, stream, on_read)
        except QueryError as error:
            unusable = UnreadableTable(msgspec.structs.replace(table, refusal=error))
            unusable.register(engine)
            refused.append(unusable)
            continue
        engine.register(table.rows_name, opened)
        rows = f"FROM {quote_identifier(table.rows_name)}"
        # A column of the name is taken for the table, too: that changes types, but no value.
        if widens or re.search(rf"(?<!\w){re.escape(table.name.lower())}(?!\w)", viewed):
            found = engine.sql(f"{rows} LIMIT 0")
            types = [str(type) for type in found.types]
            rows = select_wide(found.columns, types, quote_identifier(table.rows_name))
        _create_view(engine, table, rows)
    views = [table for table in allowed if table.query is not None]
    unreadable = _create_views(engine, views, refused)
    engine.execute(f"SET schema = {quote_identifier(schema)}")
    engine.execute("SET lock_configuration = true")
    return [*refused, *unreadable]


def _open(
    table: QueryTable, stream: Callable[[str], Any], on_read: Callable[[QueryTable], None]
) -> object:
    """Return what DuckDB reads as a table."""
    if table.files is None:
        return _Stream(stream, table, on_read)
    if not table.is_named:
        return UnnamedFiles(table.name, partial(describe_columns, table.files))
    on_read(table)
    return open_files(table.files)


def list_view_sql(engine: duckdb.DuckDBPyConnection, schema: str) -> dict[str, str]:
    """Return the SQL of each view of a schema, as DuckDB writes it, by name; also of tables."""
    return dict(engine.execute(_VIEW_SQL, [schema]).fetchall())


def _create_views(
    engine: duckdb.DuckDBPyConnection,
    views: Iterable[QueryTable],
    refused: Sequence[UnreadableTable],
) -> list[UnreadableView]:
    """Create views in the order in which they depend on each other; return those whose query fails."""
    pending = list(views)
    while pending:
        failed = []
        for view in pending:
            engine.execute(f"SET schema = {quote_identifier(view.schema)}")
            reason = _try_create_view(engine, view)
            if reason is not None:
                failed.append(UnreadableView(view, reason))
        if len(failed) == len(pending):
            for each in failed:
                each.register(engine)
            for table in refused:
                table.was_read = False
            for each in failed:
                each.find_cause(engine, [*refused, *failed])
            return failed
        pending = [each.view for each in failed]
    return []


def _try_create_view(
    engine: duckdb.DuckDBPyConnection, view: QueryTable, *, is_replaced: bool = False
) -> str | None:
    """Create a view; return why its query fails."""
    import duckdb

    assert view.query is not None
    try:
        _create_view(engine, view, view.query, is_replaced=is_replaced)
        return None
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        return extract_message(error)


def _create_view(
    engine: duckdb.DuckDBPyConnection, view: QueryTable, query: str, *, is_replaced: bool = False
) -> None:
    create = "CREATE OR REPLACE VIEW" if is_replaced else "CREATE VIEW"
    engine.execute(f"{create} {quote_identifier(view.schema, view.name)} AS {query}")
