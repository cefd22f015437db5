"""The instance's database: one DuckDB file that one process opens and many threads use.

Writers take turns, because DuckDB would let one of two concurrent writers fail. Readers work on snapshots:
they neither wait for a writer nor block one.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from localcdap.api.errors import LocalcdapError, StoreError
from localcdap.store.backup import (
    Backup,
    BackupReason,
    copy_database,
    find_damaged_tables,
    make_automatic_backup,
    needs_daily_backup,
)
from localcdap.store.commit_log import CommitLog, open_after_checkpoint
from localcdap.store.database_errors import translate_errors
from localcdap.store.database_file import remove_temporary_files
from localcdap.store.googlesql_functions import register_functions, uses_functions
from localcdap.store.migration import SHIPPED, migrate, read_migrations

if TYPE_CHECKING:
    import pyarrow as pa

    from localcdap.store.driver import duckdb


_MOST: Final = 1000
"""The most statements that are kept; then all are forgotten."""
_LONGEST: Final = 4000
"""The characters of the longest text that is kept; longer ones are hardly executed twice."""


class ParsedStatements:
    """The statements that were executed lately, by their text.

    The parser takes a fifth of the time of a read by key. Threads, connections and databases may share the
    object: DuckDB copies a parsed statement when it executes one.
    """

    def __init__(self) -> None:
        self._known: dict[str, duckdb.Statement] = {}

    def find(self, connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement | str:
        """Return the statement of a text; the text itself when it is long, or not one statement.

        :raises duckdb.ParserException: when the text is not SQL.
        """
        found = self._known.get(sql)
        if found is not None:
            return found
        if len(sql) > _LONGEST:
            return sql
        parsed = connection.extract_statements(sql)
        if len(parsed) != 1 or not _is_kept(parsed[0]):
            return sql
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[sql] = parsed[0]
        return parsed[0]

    def clear(self) -> None:
        """Forget all statements. At the end of a process, DuckDB complains about those that are left."""
        self._known.clear()


def _is_kept(statement: duckdb.Statement) -> bool:
    from localcdap.store.driver import duckdb

    kind = duckdb.StatementType
    return statement.type in (
        kind.SELECT,
        kind.INSERT,
        kind.UPDATE,
        kind.DELETE,
        kind.TRANSACTION,
    )


_PARSED: Final = ParsedStatements()
"""Those of all stores of this process."""
atexit.register(_PARSED.clear)
_Translate: TypeAlias = Callable[[], AbstractContextManager[None]]
_LOG: Final = logging.getLogger(__name__)
_MOST_IDLE: Final = 8
_STREAMED_ROWS: Final = 16_384
"""Rows in a batch of a stream."""
_INSERTED: Final = "inserted_batch"
"""The name under which a statement reads a batch of rows."""
_CLOSING_S: Final = 10.0
"""Seconds that :meth:`Store.close` waits for running statements before it interrupts them."""


class Transaction:
    """Statements that take effect together, or that read one state of the database.

    Use it only inside its ``with`` block and only in the thread that opened it. After a statement has
    failed, no other statement can run, and the block raises at its end even when that error was caught.
    """

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        translate: _Translate,
        statements: ParsedStatements,
    ) -> None:
        self._cursor = cursor
        self._translate = translate
        self._statements = statements
        self.failure: LocalcdapError | None = None
        """The error of the first statement that failed."""
        self.has_only_read = False
        """Set by who knows that nothing was changed: then there is nothing to note when it commits."""
        self._afterwards: list[Callable[[], None]] = []
        self._undoing: list[Callable[[], None]] = []
        self.changed_tables: Final[dict[tuple[str, str], tuple[Any, ...] | None]] = {}
        """The catalog rows, before this transaction, of tables and views that it has changed, by namespace
        and name; None where there was none."""
        self.changer: contextvars.Context | None = None
        """The context of the first of these changes, which knows the user who made it."""
        self.written_tables: Final[set[tuple[str, str]]] = set()
        """The tables of datasets whose rows it has changed, by namespace and name."""
        self.changed_datasets: Final[set[tuple[str, str]]] = set()
        """The datasets whose specifications it has changed, by namespace and name."""

    def on_commit(self, action: Callable[[], None]) -> None:
        """Register a function to be called after the commit; it is not called after a rollback.

        It is called in this thread with no transaction open, for example to notify readers of the change.
        """
        self._afterwards.append(action)

    def on_rollback(self, action: Callable[[], None]) -> None:
        """Register a function that undoes something outside of the database when the transaction rolls back.

        It is called before other writers go on.
        """
        self._undoing.append(action)

    def define_functions(self, text: str) -> None:
        """Define the functions of GoogleSQL for the statements that follow, if a text uses them."""
        if uses_functions([text]):
            register_functions(self._cursor)

    def execute(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement with a ``?`` for each parameter, and return the rows of its result.

        :raises ConflictError: when a constraint (primary key, NOT NULL …) is violated.
        :raises TransactionConflictError: when another transaction changes the same rows or table.
        :raises StoreError: when it fails for any other reason.
        """
        try:
            statement = self._statements.find(self._cursor, sql)
            rows: list[tuple[Any, ...]] = self._cursor.execute(statement, params).fetchall()
        except Exception:
            with self._note_failure():
                raise
        return rows

    def read_arrow(self, sql: str, params: Sequence[Any] = ()) -> pa.Table:
        """Run a query, and return its rows as Arrow, which takes a fraction of the memory of tuples."""
        import duckdb  # noqa: F401  # its Python part gives connections the method

        with self._note_failure():
            return self._cursor.sql(sql, params=list(params)).to_arrow_table()

    def insert_arrow(self, table: str, columns: str, data: pa.RecordBatch) -> None:
        """Insert the rows of a batch, whose columns are those of the list in its order.

        :param table: an SQL identifier, as are the columns.
        """
        import duckdb  # noqa: F401  # its Python part lets connections scan batches

        with self._note_failure():
            self._cursor.register(_INSERTED, data)
            try:
                self._cursor.execute(f"INSERT INTO {table} ({columns}) FROM {_INSERTED}")
            finally:
                self._cursor.unregister(_INSERTED)

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""
        if rows:
            with self._note_failure():
                self._cursor.executemany(sql, rows)

    def note_rows(self, namespace: str, table: str) -> None:
        """Note that rows of a dataset's table are changed: transactions that have used it conflict."""
        self.written_tables.add((namespace, table))

    def interrupt(self) -> None:
        """Interrupt the running statement, which then fails. Any thread may call this."""
        self._cursor.interrupt()

    @contextlib.contextmanager
    def _note_failure(self) -> Iterator[None]:
        try:
            with self._translate():
                yield
        except LocalcdapError as error:
            self.failure = self.failure or error
            raise


class Store:
    """The database in the file ``path``, which is created with its folder when it does not exist.

    :param migrations: the folder of the SQL files that create and change the tables.
    :param backups: the folder for the copies that are made before migrations change an existing database, and
        at other times; the newest copies of each kind are kept. None: no copy is made.
    :raises StoreError: when the file cannot be used; see :mod:`localcdap.store.database_file` and
        :mod:`localcdap.store.migration`.
    """

    def __init__(self, path: Path, migrations: Path = SHIPPED, backups: Path | None = None) -> None:
        self.path: Final = path
        self._backups: Final = backups
        remove_temporary_files(path)
        self._root = open_after_checkpoint(path)
        self._statements: Final = _PARSED
        self._idle: list[duckdb.DuckDBPyConnection] = []
        self._used: set[duckdb.DuckDBPyConnection] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._invalid = False
        """Whether DuckDB rejects all use of the open file, after a fatal error."""
        self._observe_tables: Callable[[Transaction], None] | None = None
        self._commit_observers: list[Callable[[Transaction], None]] = []
        self._writing = threading.Lock()
        self._writer: int | None = None
        self._united: Transaction | None = None
        """The transaction that the writing thread's transactions are part of."""
        try:
            with self._translate():
                migrate(
                    self._root,
                    path,
                    read_migrations(migrations),
                    lambda: (
                        backups
                        and make_automatic_backup(self._root, backups, BackupReason.MIGRATION)
                    ),
                )
        except BaseException:
            self._root.close()
            raise
        self._commits = CommitLog(path, self._invalidate)
        self._commits.note_migrations(self._root)

    def observe_tables(self, observe: Callable[[Transaction], None]) -> None:
        """Have a function called in each transaction that has changed tables, before it commits.

        :param observe: reads :attr:`Transaction.changed_tables`; what it writes is part of the transaction.
        """
        self._observe_tables = observe

    def observe_commits(self, observe: Callable[[Transaction], None]) -> None:
        """Have a function called after the commit of each transaction that may have written.

        The transactions of :meth:`transaction` still hold up other writers then.
        """
        self._commit_observers.append(observe)

    @contextlib.contextmanager
    def hold_writers(self) -> Iterator[None]:
        """Let the transactions of :meth:`transaction` wait while the block commits another transaction.

        :raises StoreError: inside a transaction of this thread.
        """
        if self._writer == threading.get_ident():
            raise StoreError(
                "This thread has a transaction open already.",
                "Pass that Transaction on instead of opening another one inside it.",
            )
        with self._writing:
            self._writer = threading.get_ident()
            try:
                yield
            finally:
                self._writer = None

    @contextlib.contextmanager
    def transaction(
        self, within: AbstractContextManager[None] | None = None
    ) -> Iterator[Transaction]:
        """Open a transaction that writes: it commits at the end of the block and rolls back when it raises.

        Writers wait for each other, so no conflict can occur and nothing is retried.

        :param within: is entered before the transaction begins and left after its commit, while other writers
            wait.
        :raises StoreError: inside another transaction of this thread; pass that transaction on instead.
        """
        around = within or contextlib.nullcontext()
        united = self._get_united()
        if united is not None:
            with around, _note_error(united):
                yield united
            return
        with self.hold_writers(), around, self._block("BEGIN TRANSACTION") as transaction:
            yield transaction
        _run_actions(transaction._afterwards, "commit")

    @contextlib.contextmanager
    def unite(self) -> Iterator[Transaction]:
        """Make all transactions that this thread opens in the block one: they commit together, or not at all.

        An error in one of them rolls all back, also when it was caught. What the thread reads in the block
        includes what it has written there. Those of :meth:`concurrent_transaction` stay apart.

        :raises StoreError: inside a transaction of this thread.
        """
        with self.transaction() as transaction:
            self._united = transaction
            try:
                yield transaction
            finally:
                self._united = None

    @contextlib.contextmanager
    def concurrent_transaction(self) -> Iterator[Transaction]:
        """Open a transaction as :meth:`transaction` does, but without waiting for other writers.

        :raises TransactionConflictError: when another transaction conflicts; a retry may succeed. DuckDB does
            not detect every conflict, see :mod:`localcdap.store.transactions.commits`.
        """
        with self._block("BEGIN TRANSACTION") as transaction:
            yield transaction
        _run_actions(transaction._afterwards, "commit")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """Open a read-only transaction: all statements of the block see the same state.

        It neither waits for a writer nor blocks one.
        """
        united = self._get_united()
        if united is not None:
            yield united
            return
        with self._block("BEGIN TRANSACTION READ ONLY") as transaction:
            transaction.has_only_read = True
            yield transaction

    def read(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one query and return its rows. It sees committed data only, also while this thread writes,
        unless the transactions of the thread are united.
        """
        with self.separate_reads() as reads:
            return reads.execute(sql, params)

    @contextlib.contextmanager
    def separate_reads(self) -> Iterator[Transaction]:
        """Open a block of queries that see what :meth:`read` sees, each when it starts.

        For a block that has one query as a rule: a snapshot takes two statements more.
        """
        united = self._get_united()
        if united is not None:
            yield united
            return
        with self._cursor() as cursor:
            yield Transaction(cursor, self._translate, self._statements)

    @contextlib.contextmanager
    def open_streams(self) -> Iterator[Callable[[str], pa.RecordBatchReader]]:
        """Yield a function that runs a query and returns its rows as a stream of Arrow batches.

        Each query sees the data that is committed when it starts. Any thread may start one. Close all
        readers of the streams before the block ends.
        """
        with contextlib.ExitStack() as opened:
            lock = threading.Lock()

            def stream(sql: str) -> pa.RecordBatchReader:
                with lock:
                    cursor = opened.enter_context(self._cursor())
                    opened.callback(_roll_back, cursor)
                with self._translate():
                    cursor.execute("BEGIN TRANSACTION READ ONLY")
                    return cursor.sql(sql).to_arrow_reader(_STREAMED_ROWS)

            yield stream

    def back_up(self, target: Path) -> Backup:
        """Copy the committed state into a new file; other threads may read and write meanwhile.

        :raises StoreError: when the file exists already or cannot be written.
        """
        with self._cursor() as cursor, self._translate():
            return copy_database(cursor, target)

    def back_up_before(self, reason: BackupReason) -> None:
        """Make a backup by itself, for a reason; nothing, in a store without a folder for backups."""
        if self._backups is not None:
            with self._cursor() as cursor, self._translate():
                make_automatic_backup(cursor, self._backups, reason)

    def back_up_daily(self) -> None:
        """Make a backup when the last one is older than a day."""
        if self._backups is not None:
            with self._cursor() as cursor, self._translate():
                if needs_daily_backup(cursor, self._backups):
                    make_automatic_backup(cursor, self._backups, BackupReason.DAY)

    def write_checkpoint(self) -> None:
        """Move the write-ahead log into the database file; :meth:`close` does that, and a long log."""
        self._commits.write_checkpoint(self._root)

    def find_damage(self) -> list[str]:
        """Read all tables; return a text for each table that cannot be read."""
        with self._cursor() as cursor, self._translate():
            return find_damaged_tables(cursor)

    def close(self) -> None:
        """Wait for running statements, write a checkpoint, and close the file.

        Later use raises StoreError; closing again has no effect.
        """
        with self._changed:
            if self._closed:
                return
            self._closed = True
            if not self._changed.wait_for(lambda: not self._used, _CLOSING_S):
                for cursor in self._used:
                    cursor.interrupt()
                self._changed.wait_for(lambda: not self._used, 1.0)
            self._commits.write_checkpoint(self._root)
            for cursor in (*self._idle, *self._used):
                cursor.close()
            self._root.close()
            self._commits.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get_united(self) -> Transaction | None:
        return self._united if self._writer == threading.get_ident() else None

    @contextlib.contextmanager
    def _block(self, begin: str) -> Iterator[Transaction]:
        with self._cursor() as cursor:
            with self._translate():
                self._execute(cursor, begin)
            transaction = Transaction(cursor, self._translate, self._statements)
            try:
                yield transaction
                _require_success(transaction)
                if transaction.has_only_read:
                    with self._translate():
                        self._execute(cursor, "COMMIT")
                    return
                if transaction.changer is not None and self._observe_tables is not None:
                    transaction.changer.run(self._observe_tables, transaction)
                with self._translate(), self._commits.commit(cursor):
                    self._execute(cursor, "COMMIT")
                for observe in self._commit_observers:
                    observe(transaction)
            except BaseException:
                _roll_back(cursor)
                _run_actions(reversed(transaction._undoing), "rollback")
                raise

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._take_cursor()
        try:
            yield cursor
        finally:
            self._return_cursor(cursor)

    def _take_cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor for this thread only; DuckDB's cursors are not thread-safe."""
        with self._changed:
            if self._closed:
                raise StoreError(f"The database {self.path} is closed.", "Open the instance again.")
            if self._invalid:
                self._reopen()
            cursor = self._idle.pop() if self._idle else self._root.cursor()
            self._used.add(cursor)
            return cursor

    def _return_cursor(self, cursor: duckdb.DuckDBPyConnection) -> None:
        with self._changed:
            self._used.discard(cursor)
            if self._closed or self._invalid or len(self._idle) >= _MOST_IDLE:
                cursor.close()
            else:
                self._idle.append(cursor)
            self._changed.notify_all()

    def _execute(self, cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
        cursor.execute(self._statements.find(cursor, sql))

    def _translate(self) -> AbstractContextManager[None]:
        """Translate DuckDB's exceptions in a block into errors of localcdap."""
        return translate_errors(self.path, self._invalidate)

    def _invalidate(self) -> None:
        self._invalid = True

    def _reopen(self) -> None:
        """Open the file again after a fatal error, as soon as no thread uses it; nothing committed is lost.

        :raises StoreError: when threads use it, when it cannot be opened, or was removed or replaced.
        """
        if self._used:
            raise StoreError(
                f"The database {self.path} is being opened again after an error.", "Try again."
            )
        self._commits.require_open_file()
        for cursor in self._idle:
            cursor.close()
        self._idle.clear()
        self._root.close()
        self._commits.close()
        self._root = open_after_checkpoint(self.path)
        self._commits = CommitLog(self.path, self._invalidate)
        self._invalid = False


@contextlib.contextmanager
def _note_error(united: Transaction) -> Iterator[None]:
    """Let an error in one of several united transactions roll all back."""
    try:
        yield
    except LocalcdapError as error:
        united.failure = united.failure or error
        raise


def _require_success(transaction: Transaction) -> None:
    """Raise when a statement failed: DuckDB accepts the commit of such a transaction and rolls it back."""
    if transaction.failure is not None:
        raise StoreError(
            f"The transaction was rolled back, because a statement in it failed: "
            f"{transaction.failure}",
            "Check before the statement what would make it fail.",
        ) from transaction.failure


def _run_actions(actions: Iterable[Callable[[], None]], end: str) -> None:
    """Call the functions registered for an end, which cannot be undone: their errors are only logged."""
    for action in actions:
        try:
            action()
        except Exception:
            _LOG.exception("a function that was registered for a %s failed", end)


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    from localcdap.store.driver import duckdb

    with contextlib.suppress(duckdb.Error):  # a failed commit has rolled back already
        cursor.rollback()
