"""Detection of conflicts between transactions on structured tables and datasets.

DuckDB detects that two transactions change the same field of one row. It does not detect that a row which
one of them updates was deleted by the other, or that one read rows which the other changed. This module
therefore compares the keys of all transactions at commit: a transaction conflicts when another one has
written rows that it used since it began. The result is serializable: it equals running the transactions one
after the other in the order of their commits.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterator
from typing import Any, Final

from localcdap.api.errors import TransactionConflictError

RowKey = tuple[str, tuple[Any, ...]]
"""The table and the primary key of a row."""
_MANY: Final = 1000
"""An operation with more keys than this counts as an operation on the whole table."""


class ReadWriteSet:
    """The rows and tables that one transaction has read and written."""

    def __init__(self, begun: int) -> None:
        self.begun: Final = begun
        """The number of the last commit that the transaction sees."""
        self.rows: Final[set[RowKey]] = set()
        """The rows that it read or wrote by their keys."""
        self.tables: Final[set[str]] = set()
        """The tables of which it read or wrote ranges."""
        self.written_rows: Final[set[RowKey]] = set()
        self.written_tables: Final[set[str]] = set()
        self.appended_tables: Final[set[str]] = set()
        """The tables to which it added rows that have no key."""

    @property
    def wrote(self) -> bool:
        return bool(self.written_rows or self.written_tables or self.appended_tables)

    def add_keys(self, table: str, keys: Collection[tuple[Any, ...]], *, writes: bool) -> None:
        """Add an operation on the rows with these keys."""
        if len(keys) > _MANY:
            self.add_table(table, writes=writes)
            return
        rows = [(table, key) for key in keys]
        self.rows.update(rows)
        if writes:
            self.written_rows.update(rows)

    def add_table(self, table: str, *, writes: bool) -> None:
        """Add an operation on any rows of a table."""
        self.tables.add(table)
        if writes:
            self.written_tables.add(table)

    def add_appends(self, table: str) -> None:
        """Add rows without a key, which conflict with readers of the table and not with each other."""
        self.appended_tables.add(table)


class Commits:
    """The numbered commits of an instance, as far back as open transactions need them."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        """Held during a commit, which takes as long as the disk."""
        self._lock = threading.Lock()
        self._number = 0
        self._active: set[ReadWriteSet] = set()
        self._rows: dict[RowKey, int] = {}
        """The last commit that wrote a row by its key."""
        self._tables: dict[str, int] = {}
        """The last commit that wrote anything into a table."""
        self._ranges: dict[str, int] = {}
        """The last commit that wrote ranges of a table."""

    def begin(self) -> ReadWriteSet:
        """Register a transaction, which must not have run a statement yet."""
        with self._lock:
            footprint = ReadWriteSet(self._number)
            self._active.add(footprint)
            return footprint

    def end(self, footprint: ReadWriteSet) -> None:
        """Remove a transaction that is over, and the commits that only this transaction needed."""
        with self._lock:
            self._active.discard(footprint)
            if not self._active:
                self._rows.clear()
            elif len(self._rows) > 10 * _MANY:
                oldest = min(each.begun for each in self._active)
                self._rows = {row: n for row, n in self._rows.items() if n > oldest}

    @contextlib.contextmanager
    def check_and_hold(
        self, footprint: ReadWriteSet, *, only_written: bool = False
    ) -> Iterator[None]:
        """Check a transaction for conflicts, and hold other commits back while the block commits it.

        :param only_written: ignore rows that the transaction only read.
        :raises TransactionConflictError: when a conflicting transaction was committed since it began.
        """
        if not footprint.wrote:
            yield
            return
        with self._turn:
            with self._lock:
                self._check(footprint, only_written)
            yield
            # A transaction that begins now sees the commit but starts from the number before it. It may
            # report a conflict where there is none, but never miss one.
            with self._lock:
                self._record(footprint)

    def note_tables(self, tables: Collection[str]) -> None:
        """Note that another transaction of the database, which is committed, has written into tables.

        No transaction that uses one of them may be between its check and its commit.
        """
        if not tables:
            return
        with self._lock:
            self._number += 1
            for table in tables:
                self._ranges[table] = self._tables[table] = self._number

    def wait(self) -> None:
        """Wait until the commit that is being made, if any, has ended."""
        with self._turn:
            pass

    def _record(self, footprint: ReadWriteSet) -> None:
        self._number += 1
        for row in footprint.written_rows:
            self._rows[row] = self._tables[row[0]] = self._number
        for table in footprint.written_tables | footprint.appended_tables:
            self._ranges[table] = self._tables[table] = self._number

    def _check(self, footprint: ReadWriteSet, only_written: bool) -> None:
        begun = footprint.begun
        rows = footprint.written_rows if only_written else footprint.rows
        for row in rows:
            if self._rows.get(row, 0) > begun or self._ranges.get(row[0], 0) > begun:
                raise _make_conflict_error(row[0])
        for table in footprint.written_tables if only_written else footprint.tables:
            if self._tables.get(table, 0) > begun:
                raise _make_conflict_error(table)


def _make_conflict_error(table: str) -> TransactionConflictError:
    return TransactionConflictError(
        f"Rows of table {table} were changed by another transaction meanwhile."
    )
