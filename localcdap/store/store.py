"""The instance's database: one file, opened by one process, used by many threads."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import (
    ConflictError,
    LocalcdapError,
    StoreError,
    TransactionConflictError,
)
from localcdap.store.backup import Backup, back_up_before_migration, copy_database
from localcdap.store.database_file import extract_first_line, open_file
from localcdap.store.migration import SHIPPED, migrate, read_migrations

if TYPE_CHECKING:
    import pyarrow as pa

    from localcdap.store.driver import duckdb

_LOG: Final = logging.getLogger(__name__)
_MOST_IDLE: Final = 8
_STREAMED_ROWS: Final = 16_384
"""In a batch of a stream."""
_CLOSING_S: Final = 10.0
"""Seconds that closing waits for the statements under way before it interrupts them."""


class Transaction:
    """Statements that take effect together, or see one state of the database.

    Use it only inside its ``with`` block and only in the thread that opened it. Once a statement has
    failed, no other can run, and the block raises at its end even if that error was caught.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self.failure: LocalcdapError | None = None
        """Why the first statement that failed did so."""
        self._afterwards: list[Callable[[], None]] = []

    def on_commit(self, action: Callable[[], None]) -> None:
        """Have something done once the transaction is committed; never, when it is rolled back.

        It is called in this thread with no transaction open, for what must not be told too early.
        """
        self._afterwards.append(action)

    def execute(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement, ``?`` standing for the parameters; the rows of its result.

        :raises ConflictError: when a constraint (primary key, NOT NULL …) is violated.
        :raises TransactionConflictError: when another transaction changes the same rows or table.
        :raises StoreError: when it fails for any other reason.
        """
        with self._note_failure():
            rows: list[tuple[Any, ...]] = self._cursor.execute(sql, params).fetchall()
            return rows

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""
        if rows:
            with self._note_failure():
                self._cursor.executemany(sql, rows)

    def interrupt(self) -> None:
        """Make the statement that runs now fail; may be called in any thread."""
        self._cursor.interrupt()

    @contextlib.contextmanager
    def _note_failure(self) -> Iterator[None]:
        try:
            with _translate_errors():
                yield
        except LocalcdapError as error:
            self.failure = self.failure or error
            raise


class Store:
    """The database in the file ``path``; created with its folder where it is missing.

    :param migrations: folder of the SQL files that make and change the tables.
    :param backups: folder for a copy made before migrations change a database that is in use already;
        the newest copies of this kind are kept. None: no copy is made.
    :raises StoreError: when the file cannot be used; see :mod:`localcdap.store.database_file` and
        :mod:`localcdap.store.migration`.
    """

    def __init__(self, path: Path, migrations: Path = SHIPPED, backups: Path | None = None) -> None:
        self.path: Final = path
        self._root = open_file(path)
        self._idle: list[duckdb.DuckDBPyConnection] = []
        self._used: set[duckdb.DuckDBPyConnection] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._writing = threading.Lock()
        self._writer: int | None = None
        try:
            with _translate_errors():
                migrate(
                    self._root,
                    path,
                    read_migrations(migrations),
                    lambda: backups and back_up_before_migration(self._root, backups),
                )
        except BaseException:
            self._root.close()
            raise

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Write: commits at the end of the block, rolls back when the block raises.

        One writes at a time; others wait. Nothing is retried, since nothing can conflict.

        :raises StoreError: inside another transaction of this thread: pass that one on instead.
        """
        if self._writer == threading.get_ident():
            raise StoreError(
                "This thread has a transaction open already.",
                "Pass that Transaction on instead of opening another one inside it.",
            )
        with self._writing:
            self._writer = threading.get_ident()
            try:
                with self._block("BEGIN TRANSACTION") as transaction:
                    yield transaction
            finally:
                self._writer = None
        _run_commit_actions(transaction)

    @contextlib.contextmanager
    def concurrent_transaction(self) -> Iterator[Transaction]:
        """Write beside others: as :meth:`transaction`, but no writer waits for another.

        :raises TransactionConflictError: when another got in its way; it may succeed when it is tried again.
            DuckDB does not notice every such case, see :mod:`localcdap.store.structured.commits`.
        """
        with self._block("BEGIN TRANSACTION") as transaction:
            yield transaction
        _run_commit_actions(transaction)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """Read: all statements of the block see the same state, and cannot change it.

        Neither waits for a writer nor keeps one waiting.
        """
        with self._block("BEGIN TRANSACTION READ ONLY") as transaction:
            yield transaction

    def read(self, sql: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one query and return its rows. It sees what is committed, also while this thread writes."""
        with self._cursor() as cursor:
            return Transaction(cursor).execute(sql, params)

    @contextlib.contextmanager
    def streams(self) -> Iterator[Callable[[str], pa.RecordBatchReader]]:
        """For the time of a block, what runs a query and hands out its rows as they are asked for.

        Each query sees what is committed when it begins. Any thread may begin one; close what reads from
        the streams before the block ends.
        """
        with contextlib.ExitStack() as opened:
            lock = threading.Lock()

            def stream(sql: str) -> pa.RecordBatchReader:
                with lock:
                    cursor = opened.enter_context(self._cursor())
                    opened.callback(_roll_back, cursor)
                with _translate_errors():
                    cursor.execute("BEGIN TRANSACTION READ ONLY")
                    return cursor.sql(sql).to_arrow_reader(_STREAMED_ROWS)

            yield stream

    def back_up(self, target: Path) -> Backup:
        """Copy the committed state into a new file; others may read and write meanwhile.

        :raises StoreError: when the file exists already or cannot be written.
        """
        with self._cursor() as cursor:
            return copy_database(cursor, target)

    def close(self) -> None:
        """Wait for what is under way, write everything into the one file, and release it.

        Later use raises StoreError; closing twice is fine.
        """
        with self._changed:
            if self._closed:
                return
            self._closed = True
            if not self._changed.wait_for(lambda: not self._used, _CLOSING_S):
                for cursor in self._used:
                    cursor.interrupt()
                self._changed.wait_for(lambda: not self._used, 1.0)
            try:
                self._root.execute("CHECKPOINT")
            except Exception as error:  # the next start reads the write-ahead log instead
                _LOG.warning(
                    "%s is closed without a checkpoint: %s", self.path, extract_first_line(error)
                )
            for cursor in (*self._idle, *self._used):
                cursor.close()
            self._root.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _block(self, begin: str) -> Iterator[Transaction]:
        with self._cursor() as cursor:
            with _translate_errors():
                cursor.execute(begin)
            try:
                transaction = Transaction(cursor)
                yield transaction
                _require_success(transaction)
                with _translate_errors():
                    cursor.commit()
            except BaseException:
                _roll_back(cursor)
                raise

    @contextlib.contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for this thread alone; DuckDB's own are not safe to share."""
        with self._changed:
            if self._closed:
                raise StoreError(f"The database {self.path} is closed.", "Open the instance anew.")
            cursor = self._idle.pop() if self._idle else self._root.cursor()
            self._used.add(cursor)
        try:
            yield cursor
        finally:
            with self._changed:
                self._used.discard(cursor)
                if self._closed or len(self._idle) >= _MOST_IDLE:
                    cursor.close()
                else:
                    self._idle.append(cursor)
                self._changed.notify_all()


def _require_success(transaction: Transaction) -> None:
    """DuckDB takes the commit of a failed transaction without a word, and rolls it back."""
    if transaction.failure is not None:
        raise StoreError(
            f"Nothing of this transaction was kept, because a statement in it failed: "
            f"{transaction.failure}",
            "Check before the statement what would make it fail.",
        ) from transaction.failure


def _run_commit_actions(transaction: Transaction) -> None:
    """Do what waited for the commit. It cannot undo that, so that its errors are no errors of the writer."""
    for action in transaction._afterwards:
        try:
            action()
        except Exception:
            _LOG.exception("what was to follow a commit failed")


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    from localcdap.store.driver import duckdb

    with contextlib.suppress(duckdb.Error):  # a failed commit has rolled back already
        cursor.rollback()


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """DuckDB's exceptions as localcdap's."""
    from localcdap.store.driver import duckdb

    try:
        yield
    except duckdb.ConstraintException as error:
        raise ConflictError(f"The database refuses: {extract_first_line(error)}") from error
    except duckdb.TransactionException as error:
        raise TransactionConflictError(
            f"The database refuses: {extract_first_line(error)}"
        ) from error
    except duckdb.Error as error:
        raise StoreError(f"The database refuses: {extract_first_line(error)}") from error
