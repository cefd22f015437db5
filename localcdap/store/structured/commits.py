"""Which transactions got in each other's way.

DuckDB notices when two transactions change one field of one row. It does not notice that a row which one
of them updates was deleted by the other, or that one decided by what the other changed. So everybody's
keys are compared here, at commit: a transaction whose rows were written by another since it began has
conflicted. The result is that of running one transaction after the other, in the order of their commits.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterator
from typing import Any, Final

from localcdap.api.errors import TransactionConflictError

RowKey = tuple[str, tuple[Any, ...]]
"""Table and key."""
_MANY: Final = 1000
"""Keys of one operation above which it counts as one on the whole table."""


class ReadWriteSet:
    """What one transaction read and wrote."""

    def __init__(self, begun: int) -> None:
        self.begun: Final = begun
        """Number of the last commit that it saw."""
        self.rows: Final[set[RowKey]] = set()
        """Those that it read or wrote by their key."""
        self.tables: Final[set[str]] = set()
        """Those of which it read or wrote ranges."""
        self.written_rows: Final[set[RowKey]] = set()
        self.written_tables: Final[set[str]] = set()

    @property
    def wrote(self) -> bool:
        return bool(self.written_rows or self.written_tables)

    def add_keys(self, table: str, keys: Collection[tuple[Any, ...]], *, writes: bool) -> None:
        """Note an operation on the rows with these keys."""
        if len(keys) > _MANY:
            self.add_table(table, writes=writes)
            return
        rows = [(table, key) for key in keys]
        self.rows.update(rows)
        if writes:
            self.written_rows.update(rows)

    def add_table(self, table: str, *, writes: bool) -> None:
        """Note an operation on any rows of a table."""
        self.tables.add(table)
        if writes:
            self.written_tables.add(table)


class Commits:
    """The commits of an instance, numbered; as much of them as transactions under way need to know."""

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
        """Follow a transaction, which must not yet have run a statement."""
        with self._lock:
            footprint = ReadWriteSet(self._number)
            self._active.add(footprint)
            return footprint

    def end(self, footprint: ReadWriteSet) -> None:
        """Forget a transaction that is over, and what only it needed to know."""
        with self._lock:
            self._active.discard(footprint)
            if not self._active:
                self._rows.clear()
            elif len(self._rows) > 10 * _MANY:
                oldest = min(each.begun for each in self._active)
                self._rows = {row: n for row, n in self._rows.items() if n > oldest}

    @contextlib.contextmanager
    def committing(self, footprint: ReadWriteSet, *, only_written: bool = False) -> Iterator[None]:
        """The time in which a transaction is committed; there is one at a time.

        :param only_written: what it only read may have been written by others since.
        :raises TransactionConflictError: when another was committed that got in its way.
        """
        if not footprint.wrote:
            yield
            return
        with self._turn:
            with self._lock:
                self._check(footprint, only_written)
            yield
            # Who begins just now sees the commit and yet has its number before him: he may conflict for
            # nothing, but never the other way round.
            with self._lock:
                self._record(footprint)

    def _record(self, footprint: ReadWriteSet) -> None:
        self._number += 1
        for row in footprint.written_rows:
            self._rows[row] = self._tables[row[0]] = self._number
        for table in footprint.written_tables:
            self._ranges[table] = self._tables[table] = self._number

    def _check(self, footprint: ReadWriteSet, only_written: bool) -> None:
        begun = footprint.begun
        rows = footprint.written_rows if only_written else footprint.rows
        for row in rows:
            if self._rows.get(row, 0) > begun or self._ranges.get(row[0], 0) > begun:
                raise _conflict(row[0])
        for table in footprint.written_tables if only_written else footprint.tables:
            if self._tables.get(table, 0) > begun:
                raise _conflict(table)


def _conflict(table: str) -> TransactionConflictError:
    return TransactionConflictError(
        f"Rows of table {table} were changed by another transaction meanwhile."
    )
