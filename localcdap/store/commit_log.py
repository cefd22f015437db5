"""The write-ahead log of an open database: noting its commits, and writing checkpoints.

DuckDB would write a checkpoint by itself in a commit. When that finds the disk full, DuckDB rejects all
further use of the file, even queries. The store therefore writes checkpoints when there is space for them.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.store.checkpoint_copy import keep_copy
from localcdap.store.commit_record import CommitRecord
from localcdap.store.database_errors import extract_first_line

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb

_LOG: Final = logging.getLogger(__name__)
_CHECKPOINT_BYTES: Final = 16 << 20
"""A log of this size is moved into the database; DuckDB's own default."""
_SPARE_BYTES: Final = 4 << 20
"""What a checkpoint needs besides a copy of the log: new blocks of 256 KiB for parts of changed tables."""


class CommitLog:
    """Notes commits and writes checkpoints. Threads may share it."""

    def __init__(self, database: Path, invalidate: Callable[[], None]) -> None:
        """Begin after the database was opened.

        :param invalidate: called when DuckDB rejects all further use of the open file.
        """
        self._database: Final = database
        self._invalidate: Final = invalidate
        self._record: Final = CommitRecord(database)
        self._turn: Final = threading.Lock()

    def note_migrations(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Note commits that were made outside :meth:`commit`."""
        with self.commit(connection):
            pass

    def close(self) -> None:
        """End, after DuckDB has closed the database."""
        self._record.close()

    @contextlib.contextmanager
    def commit(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Note what the block commits with this connection; commits of other threads wait meanwhile."""
        with self._turn:
            yield
            self._record.note_commit()
            self._checkpoint_long_log(connection)

    def write_checkpoint(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Move the log into the database file, unless the disk is too full: the next start reads the log."""
        with self._turn:
            self._checkpoint(connection)

    def _checkpoint_long_log(self, connection: duckdb.DuckDBPyConnection) -> None:
        if self._record.bytes >= _CHECKPOINT_BYTES:
            self._checkpoint(connection)

    def _checkpoint(self, connection: duckdb.DuckDBPyConnection) -> None:
        from localcdap.store.driver import duckdb

        free = shutil.disk_usage(self._database.parent).free
        if self._record.bytes and free < 2 * self._record.bytes + _SPARE_BYTES:
            _LOG.warning(
                "There is no space for a checkpoint of %s: %s bytes free", self._database, free
            )
            return
        try:
            with keep_copy(self._database):
                connection.execute("CHECKPOINT")
        except (
            duckdb.Error
        ) as error:  # others write at the moment, or the disk is full: the log stays
            if isinstance(error, duckdb.FatalException):
                self._invalidate()
            _LOG.info("%s got no checkpoint: %s", self._database, extract_first_line(error))
            return
        self._record.note_checkpoint()
