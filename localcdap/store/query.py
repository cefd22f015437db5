"""Read-only SQL of a user, isolated from everything but the tables that the caller hands in.

A query runs in a separate DuckDB in memory, in which the tables are views over Arrow streams from the
store (:mod:`localcdap.store.query_tables`). That DuckDB has no access to files, networks or extensions, its
configuration is locked, and its transaction is read-only, so DuckDB itself rejects anything else that a
query asks for. Only a single statement is accepted, and DuckDB's parser must classify it as a query.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import msgspec

from localcdap.api.errors import QueryError
from localcdap.store.database_errors import find_file_fault, query_error
from localcdap.store.googlesql_functions import register_functions, uses_functions
from localcdap.store.query_tables import QueryTable, UnreadableTable, create_query_tables
from localcdap.store.store import Store

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_T = TypeVar("_T")
_CONFIG: Final[dict[str, Any]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "threads": 2,
}
_QUERIES: Final = ("SELECT", "EXPLAIN")
"""The kinds of statements that are allowed, in DuckDB's words; DESCRIBE, SUMMARIZE and SHOW are SELECT."""
_INTERRUPT_S: Final = 0.05
"""Seconds between the attempts to interrupt a query."""
_BATCH_ROWS: Final = 1024
_MOST_BYTES: Final = 64 * 1024 * 1024
"""The largest result; further rows are left out, as when the limit of rows is reached."""


class QueryColumn(msgspec.Struct, frozen=True):
    """A column of a result or table."""

    name: str
    type: str
    """The name of the DuckDB type."""


class QueryRows(msgspec.Struct):
    """The rows of a result."""

    columns: list[QueryColumn]
    table: Any
    """A ``pyarrow.Table``."""
    truncated: bool
    """Whether the query found more rows than these."""
    seconds: float


class QueryLimits(msgspec.Struct, frozen=True):
    """The limits of a query."""

    rows: int
    seconds: float
    memory_mb: int = 512


class Query:
    """One query. Any thread may cancel it while another runs it."""

    _is_bigquery: ClassVar[bool] = False
    """Whether the statements are BigQuery's: times are in UTC, and columns have 64 bits."""

    def __init__(self, sql: str, limits: QueryLimits) -> None:
        self._sql = sql
        self._limits = limits
        self._lock = threading.Lock()
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._ended: QueryError | None = None
        self._unreadable: Sequence[UnreadableTable] = ()
        self._read: set[str] = set()
        """The names of the tables whose rows were read so far."""

    def cancel(self) -> None:
        """End the query; :meth:`run` raises QueryError."""
        self._end(QueryError("The query was cancelled."))

    def run(self, store: Store, tables: Sequence[QueryTable], schema: str) -> QueryRows:
        """Run the query. Each table is read in the state that it has when the query first reads it.

        :param schema: the schema of table names without one.
        :raises QueryError: when the text is not a query or is wrong, when the query was cancelled, or when it
            exceeds a limit.
        """
        begun = time.monotonic()
        columns, table, truncated = self._run_within_limits(store, tables, schema, self._answer)
        return QueryRows(columns, table, truncated, time.monotonic() - begun)

    def _run_within_limits(
        self,
        store: Store,
        tables: Sequence[QueryTable],
        schema: str,
        work: Callable[[duckdb.DuckDBPyConnection], _T],
    ) -> _T:
        """Call ``work`` with a DuckDB that sees only the tables, within the limits."""
        import duckdb  # the Python part of the package is needed to scan Arrow objects

        timer = threading.Timer(self._limits.seconds, self._time_out)
        timer.daemon = True
        timer.start()
        try:
            with store.open_streams() as stream, self._open_sandbox() as engine:
                if uses_functions([*self._list_statements(), *(t.query or "" for t in tables)]):
                    register_functions(engine)
                self._unreadable = create_query_tables(
                    engine,
                    tables,
                    stream,
                    schema,
                    lambda table: self._read.add(table.name),
                    widens=self._is_bigquery,
                )
                return work(engine)
        except duckdb.Error as error:
            if self._ended is not None:
                raise self._ended from None
            unreadable = self._find_unreadable()
            if unreadable is not None:
                raise unreadable.error from None
            fault = find_file_fault(error, store.path)
            if fault is not None:
                raise fault from error
            raise query_error(error, self._sql, self._limits.memory_mb) from None
        except (
            UnicodeDecodeError
        ) as error:  # DuckDB's message has bytes of a file that are not text
            message = bytes(error.object).decode(errors="replace")
            raise query_error(ValueError(message), self._sql, self._limits.memory_mb) from None
        finally:
            timer.cancel()

    def _list_statements(self) -> Sequence[str]:
        """Return the statements that run."""
        return [self._sql]

    def _answer(
        self, engine: duckdb.DuckDBPyConnection
    ) -> tuple[list[QueryColumn], pa.Table, bool]:
        import duckdb
        import pyarrow as pa

        statements = engine.extract_statements(self._sql)
        if not statements:
            raise QueryError("There is no query.", "Write one, such as SELECT * FROM a table.")
        if len(statements) > 1:
            raise QueryError(
                f"The text holds {len(statements)} statements; only one can run at a time.",
                "Select one of them, or remove the others.",
            )
        kind = statements[0].type.name
        if kind not in _QUERIES:
            raise QueryError(
                f"{kind} is not a query; only queries can run here.",
                "Write SELECT, FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN.",
            )
        engine.execute("BEGIN TRANSACTION READ ONLY")
        try:
            found = engine.sql(self._sql)
        except duckdb.Error:
            self._explain(engine)
            raise
        columns = [
            QueryColumn(name, str(type))
            for name, type in zip(found.columns, found.types, strict=True)
        ]
        with found.to_arrow_reader(_BATCH_ROWS) as reader:
            batches, truncated = _read_first_batches(reader, self._limits.rows)
            return columns, pa.Table.from_batches(batches, reader.schema), truncated

    def _find_unreadable(self) -> UnreadableTable | None:
        """Return the view whose failed query is why a statement failed; None when no such view was read."""
        return next((view for view in self._unreadable if view.was_read), None)

    def _explain(self, engine: duckdb.DuckDBPyConnection) -> None:
        """Let DuckDB fail again on a wrong query as part of EXPLAIN, whose error has line and column.

        :raises QueryError: with the position.
        """
        import duckdb

        if self._ended is not None or self._find_unreadable() is not None:
            return
        engine.rollback()
        try:
            engine.execute(f"EXPLAIN\n{self._sql}")
        except duckdb.Error as error:
            raise query_error(error, self._sql, self._limits.memory_mb, lines_before=1) from None

    @contextlib.contextmanager
    def _open_sandbox(self) -> Iterator[duckdb.DuckDBPyConnection]:
        import duckdb

        config = _CONFIG | {"memory_limit": f"{self._limits.memory_mb}MB"}
        engine = duckdb.connect(":memory:", config=config)
        try:
            if self._is_bigquery:
                engine.execute("SET TimeZone = 'UTC'")
            with self._lock:
                if self._ended is not None:
                    raise self._ended
                self._engine = engine
            yield engine
        finally:
            with self._lock:
                self._engine = None
            engine.close()

    def _time_out(self) -> None:
        self._end(
            QueryError(
                f"The query took longer than {self._limits.seconds:g} s, and was ended.",
                "Query less data, or raise the time limit.",
            )
        )

    def _end(self, why: QueryError) -> None:
        with self._lock:
            self._ended = self._ended or why
        # DuckDB forgets an interrupt that comes before a statement has begun.
        if not self._interrupt():
            threading.Thread(target=self._interrupt_until_closed, daemon=True).start()

    def _interrupt(self) -> bool:
        """Interrupt a running statement; return whether there is nothing to be interrupted any more."""
        with self._lock:
            if self._engine is not None:
                self._engine.interrupt()
            return self._engine is None

    def _interrupt_until_closed(self) -> None:
        while not self._interrupt():
            time.sleep(_INTERRUPT_S)


def to_arrow_stream(table: Any) -> bytes:
    """Return a ``pyarrow.Table`` as an Arrow IPC stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _read_first_batches(reader: Any, limit: int) -> tuple[list[Any], bool]:
    """Return the batches of the first rows, and whether there are more rows."""
    batches: list[Any] = []
    rows = size = 0
    for batch in reader:
        left = limit - rows
        if batch.num_rows > left or size > _MOST_BYTES:
            return [*batches, batch.slice(0, left if size <= _MOST_BYTES else 0)], True
        batches.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    return batches, False
