"""SQL statements of a user that change tables, executed on copies in a separate DuckDB.

The statements see only the tables that the caller hands in, as in :mod:`localcdap.store.query`. The tables
that they change are copied into that DuckDB; the results leave it as Parquet files, which the caller writes
into the instance's tables, and as the queries of views. Temporary tables stay in that DuckDB.

The views that statements created, replaced or dropped in the DuckDB that executed them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import from_arrow_schema
from localcdap.api.errors import QueryError, SchemaError
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_identifier
from localcdap.store.columns import list_stored_columns, write_query
from localcdap.store.database_errors import extract_message
from localcdap.store.query import Query, QueryLimits
from localcdap.store.query_tables import QueryTable, list_view_sql
from localcdap.store.store import Store
from localcdap.store.wide_types import widen_columns

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


_NAME: Final = r'(?:"(?:[^"]|"")*"|[^\s".(,]+)'
_CREATE_VIEW: Final = re.compile(
    rf"CREATE VIEW {_NAME}(?:\.{_NAME})*(?: \((?P<columns>{_NAME}(?:, {_NAME})*)\))? AS (?P<query>.*?);?",
    re.DOTALL,
)
"""The SQL of a view in DuckDB's catalog."""
_REPLACES: Final = re.compile(
    r'Existing object "(?P<name>.*)" is of type (?P<kind>Table|View), trying to '
)
_NOT_A_TABLE: Final = re.compile(
    r"is not an? table$|Can only (?:delete from|update|insert into|merge into) base table"
    r"|Can only modify view with ALTER VIEW"
)
"""DuckDB's errors of a statement that would change the rows or columns of a view."""


_VIEW_COLUMNS: Final = (
    "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = ? AND table_name = ? "
    "ORDER BY column_index"
)


class ChangedView(msgspec.Struct):
    """A view that the statements created, replaced or dropped."""

    name: str
    query: str | None
    """In the SQL of DuckDB; None when the view was dropped."""
    schema: Schema | None
    """The schema of its rows when it was created."""


def find_refused(error: Exception, sql: str, views: Mapping[str, str]) -> QueryError | None:
    """Return the error of a statement on a view that is for tables, or the reverse, as BigQuery words it.

    :param views: the views by name.
    """
    text = extract_message(error).rstrip("!.")
    found = _REPLACES.search(text)
    if found is not None:
        name, kind = found["name"].replace('""', '"'), found["kind"].upper()
    elif _NOT_A_TABLE.search(text):
        kind = "VIEW"
        name = next((name for name in views if quote_identifier(name) in sql), "")
    else:
        return None
    if not name:
        return None
    return QueryError(
        f"'{name}' is not allowed for this operation because it is currently a {kind}.",
        f"Use another name, or write DROP {kind} first.",
    )


def refuse_cycles(
    engine: duckdb.DuckDBPyConnection, schema: str, before: Mapping[str, str]
) -> None:
    """Check that no view which the statements changed reads itself.

    :raises QueryError: when one does.
    """
    import duckdb

    for name, sql in list_view_sql(engine, schema).items():
        if sql == before.get(name):
            continue
        try:
            engine.execute(f"DESCRIBE {quote_identifier(schema, name)}")
        except duckdb.BinderException as error:
            if "infinite recursion" in str(error):
                raise QueryError(
                    f"View '{name}' cannot be created, because it would read itself.",
                    "Remove it, and the views that read it, from its query.",
                ) from None
        except duckdb.CatalogException:
            continue  # what it reads was dropped: an error only when the view is read


def list_changed_views(
    engine: duckdb.DuckDBPyConnection,
    schema: str,
    before: Mapping[str, str],
    held: Sequence[str],
) -> Iterator[ChangedView]:
    """List the views that differ from those before the statements.

    :param before: the SQL of the views before the statements, by name; also of tables, which are views here.
    :param held: the names of the views before the statements.
    :raises QueryError: for a view whose columns have types that tables cannot have.
    """
    views = list_view_sql(engine, schema)
    for name in held:
        if name not in views:
            yield ChangedView(name, None, None)
    for name, sql in views.items():
        if sql != before.get(name):
            yield _describe_view(engine, schema, name, sql)


def _describe_view(
    engine: duckdb.DuckDBPyConnection, schema: str, name: str, sql: str
) -> ChangedView:
    found = _CREATE_VIEW.fullmatch(sql)
    if found is None:
        raise QueryError(f"View '{name}' cannot be stored: {sql}", "Write it in another way.")
    query, names = found["query"], found["columns"]
    columns = engine.execute(_VIEW_COLUMNS, [schema, name]).fetchall()
    if names is not None:
        count = len(re.findall(_NAME, names))
        if count != len(columns):
            raise QueryError(
                f"View '{name}' names {count} columns, but its query has {len(columns)}.",
                "Name all columns, or none.",
            )
        query = f"FROM ({query}) AS named({names})"
    typed = [(column, type) for column, type in columns]
    nulls = ", ".join(f"CAST(NULL AS {type}) AS {quote_identifier(c)}" for c, type in typed)
    empty = f"SELECT {list_stored_columns(typed)} FROM (SELECT {nulls}) LIMIT 0"  # noqa: S608
    try:
        fields = from_arrow_schema(engine.sql(empty).to_arrow_table().schema)
    except SchemaError as error:
        raise QueryError(
            f"View '{name}' has a column of a type that tables cannot hold: {error.message}",
            "Convert the column, for example to VARCHAR.",
        ) from None
    return ChangedView(name, query, fields)


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
"""The kinds of statements that are allowed, in DuckDB's words; TRUNCATE is a DELETE."""


class ChangedTable(msgspec.Struct):
    """A table after the statements."""

    name: str
    file: Path | None
    """The Parquet file of its rows; None when the table was dropped."""
    nullable: dict[str, bool]
    """Whether each column may be null, by column name."""


class ChangeResult(msgspec.Struct):
    """The result of the statements."""

    tables: list[ChangedTable]
    """The tables that the caller allowed to change, and the new ones."""
    views: list[ChangedView]
    rows: int
    """The number of rows that the last statement found (a query) or changed (any other)."""
    first: Any
    """A ``pyarrow.Table`` with the first row of the last query, or without rows when it found none."""
    reads: list[str]
    """The tables that the statements have read, and did not ask to change; of views, the tables below."""


class ChangeQuery(Query):
    """Statements that run one after the other; the first failure ends them. See :class:`Query`.

    :param statements: single statements in DuckDB's SQL.
    :param required: the columns that must not be null, by name of each table that may change; tables that
        do not exist yet need not be named.
    """

    _is_bigquery = True

    def __init__(
        self,
        statements: Sequence[str],
        required: Mapping[str, Sequence[str]],
        limits: QueryLimits,
    ) -> None:
        super().__init__("", limits)
        self._statements = statements
        self._number = 0
        """The number of the statement that runs."""
        self._required = required

    def carry_out(
        self, store: Store, tables: Sequence[QueryTable], schema: str, directory: Path
    ) -> ChangeResult:
        """Run the statements.

        :param tables: the tables that the statements see, all of one schema.
        :param directory: an existing folder for the files of changed tables.
        :raises QueryError: when a statement is wrong, was cancelled, or takes more than its limits.
        """

        def work(engine: duckdb.DuckDBPyConnection) -> ChangeResult:
            for table in tables:
                if table.name in self._required:
                    _copy(engine, table, self._required[table.name])
            widen_columns(engine)
            self._read.clear()  # the copies are not what the statements read
            before = list_view_sql(engine, schema)
            rows, first = 0, None
            for number, statement in enumerate(self._statements, start=1):
                self._number, self._sql = number, statement
                for view in self._unreadable:
                    view.retry(engine, before[view.view.name])
                rows, found = self._run_statement(engine, statement, schema)
                refuse_cycles(engine, schema, before)
                first = first if found is None else found
            self._sql, self._number = "", 0
            reads = sorted(self._read | _find_named_files(tables, self._statements))
            dropped = [table.name for table in tables if table.query is not None]
            views = list(list_changed_views(engine, schema, before, dropped))
            changed = list(self._write_tables(engine, schema, directory))
            return ChangeResult(changed, views, rows, first, reads)

        try:
            return self._run_within_limits(store, tables, schema, work)
        except QueryError as error:
            if not self._number or len(self._statements) == 1:
                raise
            message = f"Statement {self._number}: {error.message}"
            raise QueryError(message, error.corrective_action) from None

    def _list_statements(self) -> Sequence[str]:
        return self._statements

    def _run_statement(
        self, engine: duckdb.DuckDBPyConnection, sql: str, schema: str
    ) -> tuple[int, pa.Table | None]:
        import duckdb

        try:
            return _run_statement(engine, sql)
        except duckdb.Error as error:
            if isinstance(error, duckdb.InterruptException):
                raise
            refused = find_refused(error, sql, list_view_sql(engine, schema))
            if refused is None:
                raise
            raise refused from None

    def _write_tables(
        self, engine: duckdb.DuckDBPyConnection, schema: str, directory: Path
    ) -> Iterator[ChangedTable]:
        columns: dict[str, dict[str, bool]] = {}
        for table, column, nullable in engine.execute(_COLUMNS, [schema]).fetchall():
            columns.setdefault(table, {})[column] = nullable
        for number, (table, described) in enumerate(columns.items()):
            file = directory / f"{number}.parquet"
            write_query(engine, f"Table '{table}'", f"FROM {quote_identifier(table)}", file)
            yield ChangedTable(table, file, described)
        for table in self._required.keys() - columns.keys():
            yield ChangedTable(table, None, {})


def _copy(engine: duckdb.DuckDBPyConnection, table: QueryTable, required: Sequence[str]) -> None:
    """Replace the view of a table by a table that can be changed."""
    name, source = (
        quote_identifier(table.schema, table.name),
        quote_identifier(table.rows_name),
    )
    engine.execute(f"DROP VIEW {name}")
    engine.execute(f"CREATE TABLE {name} AS FROM {source}")
    for column in required:
        engine.execute(f"ALTER TABLE {name} ALTER {quote_identifier(column)} SET NOT NULL")


def _find_named_files(tables: Sequence[QueryTable], statements: Sequence[str]) -> set[str]:
    """Return the file sets that statements name, or views that they name: DuckDB reports no scan."""
    texts = " ".join(statements).lower()
    views = [table for table in tables if table.query is not None]
    while named := [each for each in views if each.name.lower() in texts]:
        texts = " ".join([texts, *(each.query.lower() for each in named if each.query)])
        views = [each for each in views if each not in named]
    return {each.name for each in tables if each.files is not None and each.name.lower() in texts}


def _run_statement(engine: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, pa.Table | None]:
    """Run a statement; return how many rows it found or changed, and the first row of a query."""
    import pyarrow as pa

    kinds = [statement.type.name for statement in engine.extract_statements(sql)]
    if len(kinds) != 1 or kinds[0] not in _KINDS:
        raise QueryError(
            "Each text must be one statement that queries or changes tables, not: "
            f"{', '.join(kinds) or 'nothing'}.",
            "Split the text into single statements.",
        )
    if kinds != ["SELECT"]:
        changed = engine.execute(sql).fetchone()
        if kinds != ["DROP"]:
            widen_columns(engine)
        return (changed[0] if changed and isinstance(changed[0], int) else 0), None
    with engine.sql(sql).to_arrow_reader(_BATCH_ROWS) as reader:
        rows, first = 0, pa.Table.from_batches([], reader.schema)
        for batch in reader:
            if rows == 0 and batch.num_rows:
                first = pa.Table.from_batches([batch.slice(0, 1)])
            rows += batch.num_rows
        return rows, first


_COLUMNS: Final = (
    "SELECT c.table_name, c.column_name, c.is_nullable FROM duckdb_columns() c "
    "JOIN duckdb_tables() t USING (schema_name, table_name) WHERE c.schema_name = ? "
    "AND NOT t.temporary AND c.database_name = t.database_name ORDER BY c.table_name, c.column_index"
)
