"""Read-only SQL on the tables of an instance."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any, Final

import msgspec

from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.api.errors import BadRequestError, ConflictError, UnauthorizedError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.schema import Schema
from localcdap.api.security import Permission
from localcdap.api.sql_names import quote_identifier
from localcdap.namespaces.service import NamespaceService
from localcdap.security.access import (
    SwitchedAuthorizer,
    of_namespace,
    open_to_all,
    requires,
    shows_visible,
)
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.security.principals import current_principal
from localcdap.store import dataset_catalog
from localcdap.store.columns import to_column_type
from localcdap.store.file_tables import TEXT
from localcdap.store.query import Query, QueryColumn, QueryLimits, to_arrow_stream
from localcdap.store.query_tables import FileTables, NoFileTables, QueryTable
from localcdap.store.store import Store, Transaction
from localcdap.store.structured.admin import TableAdmin
from localcdap.store.table_catalog import ViewDescription, ViewQuery, list_entries
from localcdap.store.transactions.structured_table import PREFIX

STRUCTURED: Final = "structured"
"""The schema of the structured tables of system applications in queries."""


def refuse_unreadable(
    tx: Transaction, tables: Iterable[QueryTable], authorizer: SwitchedAuthorizer
) -> list[QueryTable]:
    """Return the tables; those that the caller may not read have the refusal.

    A statement that reads one of them fails, in whatever way it names it; it sees their names.
    """
    if not authorizer.is_enabled:
        return list(tables)
    known = dataset_catalog.list_names(tx)
    return [
        msgspec.structs.replace(each, refusal=_refuse(each, known, authorizer)) for each in tables
    ]


def _refuse(
    table: QueryTable, known: Set[tuple[str, str]], authorizer: SwitchedAuthorizer
) -> UnauthorizedError | None:
    namespace = SYSTEM_NAMESPACE if table.schema == STRUCTURED else table.schema
    try:
        entity = MetadataEntity.of_dataset(_find_dataset(table, known), namespace)
        authorizer.enforce(current_principal(), entity, [Permission.READ])
    except UnauthorizedError as error:
        return error
    return None


def _find_dataset(table: QueryTable, known: Set[tuple[str, str]]) -> str:
    """Return the dataset of a table, which is called ``DATASET`` or ``DATASET.NAME``."""
    name = table.name
    while (table.schema, name) not in known and "." in name:
        name = name.rpartition(".")[0]
    return name if (table.schema, name) in known else table.name


MOST_ROWS: Final = 100_000
LONGEST_S: Final = 600.0
_MOST_CANCELLED: Final = 100


_RESERVED: Final = frozenset(("information_schema", "main", "pg_catalog", "system", "temp"))
"""DuckDB's own schemas and databases."""

_KEY_TYPES: Final = {"STRING": "VARCHAR", "LONG": "BIGINT", "INT": "INTEGER"}
_Table = tuple[QueryTable, tuple[str, ...]]
"""A table and the columns of its key."""


class SqlRequest(msgspec.Struct):
    """A query and its limits."""

    sql: str
    namespace: str = "default"
    """The namespace of table names without one."""
    limit: int = 1000
    """The most rows to return, up to ``MOST_ROWS``."""
    time_limit_s: float = 60.0
    """Up to ``LONGEST_S``."""
    id: str = ""
    """The id with which :meth:`SqlService.cancel` can cancel the query; a random one when empty."""


class SqlResult(msgspec.Struct):
    """The result of a query."""

    columns: list[QueryColumn]
    rows: int
    truncated: bool
    """Whether the query found more than ``limit`` rows."""
    seconds: float
    arrow: bytes
    """The rows as an Arrow IPC stream."""

    def to_table(self) -> Any:
        """Return the rows as a ``pyarrow.Table``."""
        import pyarrow as pa

        with pa.ipc.open_stream(self.arrow) as reader:
            return reader.read_all()


class SqlTable(msgspec.Struct):
    """A table or view that queries can read."""

    schema: str
    """A namespace, or ``structured``."""
    name: str
    columns: list[QueryColumn]
    key: list[str]
    """The columns that identify a row; empty for a table without a key."""
    rows: int | None
    """None for a view and for a file set, whose rows are counted only by a query."""
    query: str | None = None
    """The query of a view in the SQL of DuckDB; None for a table."""
    problem: str | None = None
    """Why a view cannot be read; it has no columns then."""
    is_file_set: bool = False
    """Whether the rows are in files."""

    @property
    def identifier(self) -> str:
        """The table's name for a query in any namespace."""
        return quote_identifier(self.schema, self.name)


class SqlService:
    """Runs read-only queries. Threads may share it; each query has its own DuckDB (see ``store.query``).

    :param authorizer: decides which tables a caller may read.
    :param files: finds the file sets that queries can read.
    """

    def __init__(
        self,
        store: Store,
        namespaces: NamespaceService,
        structured: TableAdmin,
        authorizer: SwitchedAuthorizer = ALLOW_ALL,
        files: FileTables = NoFileTables(),  # noqa: B008 - it has no state
    ) -> None:
        self._files = files
        self._authorizer = authorizer
        self._store = store
        self._namespaces = namespaces
        self._structured = structured
        self._changing = threading.Lock()
        self._running: dict[str, Query] = {}
        self._cancelled_ids: deque[str] = deque(maxlen=_MOST_CANCELLED)
        """The ids of queries that were cancelled before they arrived."""

    @requires(of_namespace("request.namespace"))
    def query(self, request: SqlRequest) -> SqlResult:
        """Run one query, which can read the tables of all namespaces and those of system applications.

        :raises UnauthorizedError: when it reads a table that the caller may not read.
        :raises QueryError: when the text is not a query or is wrong, when the query was cancelled, or when it
            exceeds a limit.
        :raises NotFoundError: when there is no such namespace.
        :raises ConflictError: when a query with that id is running.
        """
        self._namespaces.require(request.namespace)
        if not 0 <= request.limit <= MOST_ROWS or not 0 < request.time_limit_s <= LONGEST_S:
            raise BadRequestError(
                f"A query can return up to {MOST_ROWS} rows and take up to {LONGEST_S:g} s, not "
                f"{request.limit} rows and {request.time_limit_s:g} s."
            )
        query = Query(request.sql, QueryLimits(request.limit, request.time_limit_s))
        id = request.id or str(uuid.uuid4())
        with self._changing:
            if id in self._running:
                raise ConflictError(f"A query '{id}' is running already.", "Use another id.")
            if id in self._cancelled_ids:
                self._cancelled_ids.remove(id)
                query.cancel()
            self._running[id] = query
        try:
            with self._store.snapshot() as tx:
                found_tables = [table for table, _ in self._list_query_tables(tx)]
                found_tables += self._files.list_tables(tx, found_tables, [request.sql])
                tables = refuse_unreadable(tx, found_tables, self._authorizer)
            tables += _alias_dataset_tables(tables, request.namespace)
            found = query.run(self._store, tables, request.namespace)
        finally:
            with self._changing:
                del self._running[id]
        return SqlResult(
            found.columns,
            found.table.num_rows,
            found.truncated,
            found.seconds,
            to_arrow_stream(found.table),
        )

    @requires(of_namespace())
    def read_rows(self, namespace: str, name: str, most: int) -> Any:
        """Return the first rows of a table, view or file set as a ``pyarrow.Table``.

        :param most: up to ``MOST_ROWS``.
        :raises UnauthorizedError: when the caller may not read it.
        :raises QueryError: when there is no such table, or it cannot be read.
        """
        select = f"SELECT * FROM {quote_identifier(namespace, name)}"  # noqa: S608 - the name is quoted
        return self.query(SqlRequest(select, namespace, most, LONGEST_S)).to_table()

    @open_to_all("only its caller has the id of a query")
    def cancel(self, id: str) -> bool:
        """Cancel a query, whose caller gets a QueryError; return False when no query of that id is running.

        A query of that id that arrives later is cancelled at once, because calls may overtake each other.
        """
        with self._changing:
            query = self._running.get(id)
            if query is None:
                self._cancelled_ids.append(id)
        if query is not None:
            query.cancel()
        return query is not None

    @shows_visible(lambda each: MetadataEntity.of_dataset(each.name, each.schema))
    def list_tables(self, namespace: str | None = None) -> list[SqlTable]:
        """Return the tables that queries can read, by schema and name.

        :param namespace: only tables of this namespace and of system applications; None for all tables.
        """
        if namespace is not None:
            self._namespaces.require(namespace)
        with self._store.snapshot() as tx:
            found = [
                each
                for each in self._list_query_tables(tx)
                if namespace is None or each[0].schema in (namespace, STRUCTURED)
            ]
            tables = list(_read_details(tx, found))
            readable = [table for table, _ in found]
            files = self._files.list_tables(tx, readable, (), namespace)
        tables += map(_to_file_table, files)
        views = [table for table in readable if table.query is not None]
        if views:
            described = ViewQuery().describe(self._store, [*readable, *files])
            tables += [_to_sql_table(view, described[view]) for view in views]
        return sorted(
            tables, key=lambda table: (table.schema == STRUCTURED, table.schema, table.name)
        )

    def _list_query_tables(self, tx: Transaction) -> list[_Table]:
        """Return all tables; if a namespace is named ``structured``, its tables hide those of
        applications.
        """
        found: list[_Table] = [
            (entry.query_table, (entry.key,) if entry.key is not None else ())
            for entry in list_entries(tx)
        ]
        taken = {table.name.lower() for table, _ in found if table.schema.lower() == STRUCTURED}
        for spec in self._structured.list_tables():
            if spec.table.lower() not in taken:
                source = quote_identifier("main", PREFIX + spec.table)
                found.append((QueryTable(STRUCTURED, spec.table, source), tuple(spec.primary_key)))
        return found


def _alias_dataset_tables(tables: Sequence[QueryTable], namespace: str) -> Iterator[QueryTable]:
    """Yield the tables of a namespace that are named ``dataset.table`` (stand-ins for BigQuery) a second
    time.

    A query can then write the name without quotes. Namespaces and schemas of DuckDB take precedence.
    """
    taken = {table.schema.lower() for table in tables} | _RESERVED
    for table in tables:
        dataset, dot, name = table.name.partition(".")
        if table.schema == namespace and dot and name and dataset.lower() not in taken:
            query = f"FROM {table.source}" if table.query is not None else None
            yield msgspec.structs.replace(table, schema=dataset, name=name, query=query)


def _to_sql_table(view: QueryTable, described: ViewDescription) -> SqlTable:
    return SqlTable(
        view.schema, view.name, described.columns, [], None, view.query, described.problem
    )


def _to_file_table(table: QueryTable) -> SqlTable:
    """Return a file set; the columns are not known as long as only its files say what they are."""
    assert table.files is not None
    schema = TEXT if table.files.format == "text" else None
    if table.files.document is not None:
        schema = Schema.parse(table.files.document)
    columns = [QueryColumn(each.name, to_column_type(each.schema)) for each in schema or ()]
    columns += [QueryColumn(name, _KEY_TYPES[type]) for name, type in table.files.key]
    return SqlTable(table.schema, table.name, columns, [], None, is_file_set=True)


def _read_details(tx: Transaction, tables: Sequence[_Table]) -> Iterator[SqlTable]:
    columns: dict[str, list[QueryColumn]] = {}
    for schema, table, column, type in tx.execute(_COLUMNS):
        columns.setdefault(quote_identifier(schema, table), []).append(QueryColumn(column, type))
    for each, key in tables:
        if each.query is not None:
            continue
        count: int = tx.execute(f"SELECT count(*) FROM {each.source}")[0][0]  # noqa: S608
        yield SqlTable(each.schema, each.name, columns.get(each.source, []), list(key), count)


_COLUMNS: Final = (
    "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
    "WHERE NOT internal ORDER BY column_index"
)
