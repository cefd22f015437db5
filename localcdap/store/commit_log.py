"""The write-ahead log of an open database: noting its commits, and writing checkpoints.

DuckDB would write a checkpoint by itself in a commit. When that finds the disk full, DuckDB rejects all
further use of the file, even queries. The store therefore writes checkpoints when there is space for them.

While a checkpoint is written, a copy of the database exists. DuckDB writes changed blocks of its metadata in
place. A process that is killed in the middle of such a write, which is several pages long, leaves a block
whose checksum is wrong, and the file cannot be opened any more (seen once in 600 kills of a process that
wrote checkpoints, on a machine with a load of 13). The copy of the file and of its write-ahead log, made
before the checkpoint, then takes its place; no commit is lost, because none happens during a checkpoint.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import DamagedStoreError, StoreError
from localcdap.store.backup import find_damaged_tables
from localcdap.store.commit_record import CommitRecord, get_log_path
from localcdap.store.database_errors import extract_first_line, get_file_size
from localcdap.store.database_file import make_temporary_path, open_file

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb


_MOST_BYTES: Final = 256 << 20
"""The copy of a larger file would take longer than the checkpoint; where the file system can share blocks
between files, the size does not matter."""
_FICLONE: Final = 0x40049409
"""The ``ioctl`` of Linux that makes a file share the blocks of another one (btrfs, XFS)."""


@contextlib.contextmanager
def keep_copy(database: Path) -> Iterator[None]:
    """Keep a copy of an open database during the block. No commit may happen meanwhile.

    There is none when the file is large and cannot be shared, or when there is no space for it.
    """
    copy, log = _get_copy_path(database), get_log_path(database)
    try:
        if log.exists():
            _clone(log, get_log_path(copy))
        temporary = make_temporary_path(copy)
        _clone(database, temporary)
        temporary.replace(copy)
    except OSError:
        _remove(copy)
    yield
    _remove(copy)


def open_after_checkpoint(database: Path) -> duckdb.DuckDBPyConnection:
    """Open a database as :func:`open_file` does; if the last checkpoint of a killed process has damaged it,
    put the copy from before that checkpoint in its place.
    """
    copy = _get_copy_path(database)
    if not copy.exists():
        return open_file(database)
    try:
        connection = open_file(database)
        if damaged := find_damaged_tables(connection):
            connection.close()
            raise DamagedStoreError("; ".join(damaged))
    except DamagedStoreError:
        _restore(database, copy)
        return open_file(database)
    _remove(copy)
    return connection


def _restore(database: Path, copy: Path) -> None:
    log, copied_log = get_log_path(database), get_log_path(copy)
    if copied_log.exists():
        copied_log.replace(log)
    else:
        log.unlink(missing_ok=True)
    copy.replace(database)


def _get_copy_path(database: Path) -> Path:
    return database.with_name(f"{database.name}.checkpoint")


def _clone(source: Path, target: Path) -> None:
    """Copy a file, which only this user can read.

    :raises OSError: when there is too little space, or the file is too large.
    """
    target.unlink(missing_ok=True)
    target.touch(0o600)
    if _share_blocks(source, target):
        return
    size = get_file_size(source)
    if size > _MOST_BYTES or shutil.disk_usage(source.parent).free < 4 * size:
        target.unlink()
        raise OSError(f"{source} is not copied")
    shutil.copyfile(source, target)


def _share_blocks(source: Path, target: Path) -> bool:
    if sys.platform != "linux":
        return False
    import fcntl

    with source.open("rb") as old, target.open("r+b") as new:
        try:
            fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
        except OSError:
            return False
    return True


def _remove(copy: Path) -> None:
    for path in (copy, get_log_path(copy)):
        with contextlib.suppress(OSError):
            path.unlink()


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
        """Note what the block commits with this connection; commits of other threads wait meanwhile.

        :raises StoreError: when the file of the open database was removed, moved or replaced; the block is
            not entered.
        """
        with self._turn:
            self.require_open_file()
            yield
            self._record.note_commit()
            self._checkpoint_long_log(connection)

    def require_open_file(self) -> None:
        """:raises StoreError: when the database's path leads to another file than the open one, or to nothing
        at all.
        """
        if not self._record.is_of_open_file:
            raise StoreError(
                f"The database {self._database} was removed or replaced while this process had it open.",
                "Open the instance again. If the folder was moved, its database is there, with all that was "
                "committed.",
            )

    def write_checkpoint(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Move the log into the database file, unless the disk is too full: the next start reads the log."""
        with self._turn:
            self._checkpoint(connection)

    def _checkpoint_long_log(self, connection: duckdb.DuckDBPyConnection) -> None:
        if self._record.bytes >= _CHECKPOINT_BYTES:
            self._checkpoint(connection)

    def _checkpoint(self, connection: duckdb.DuckDBPyConnection) -> None:
        from localcdap.store.driver import duckdb

        if not self._record.is_of_open_file:
            _LOG.warning("%s got no checkpoint: it was removed or replaced", self._database)
            return
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
