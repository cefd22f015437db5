"""Opening and creating the DuckDB file, with a clear error for each way in which that can fail."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import DamagedStoreError, StoreError
from localcdap.files.atomic import sync_to_disk
from localcdap.store.commit_record import check_log, get_log_path
from localcdap.store.database_errors import (
    is_disk_full,
    make_database_error,
    make_disk_full_error,
    make_opening_error,
    suggest_repair_unchanged,
)

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb

_MAGIC: Final = b"DUCK"
_MAGIC_OFFSET: Final = 8
_SETTINGS: Final[dict[str, bool | str]] = {
    # Opening a file must never make DuckDB download and run extensions.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    # A checkpoint that finds the disk full makes DuckDB reject everything, also queries, until the file is
    # opened again. The store writes checkpoints itself, when there is space for them.
    "checkpoint_threshold": "1TB",
}
_UNFINISHED: Final = ".unfinished"


def open_file(path: Path, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """Open the database file, or create it with its folder.

    :param read_only: open an existing file without changing it.
    :raises DamagedStoreError: when it is damaged or not a DuckDB file, or commits of it are lost; it is left
        unchanged.
    :raises DiskFullError: when there is no space to create it.
    :raises StoreError: when another process has it open (the message names it), when it was made by a newer
        DuckDB, or when it cannot be written.
    """
    from localcdap.store.driver import duckdb

    try:
        if not read_only and not path.exists():
            _create(path)
        _check_header(path)
        check_log(path)
        connection = duckdb.connect(str(path), read_only, config=_SETTINGS)
    except OSError as error:
        if is_disk_full(error):
            raise make_disk_full_error(error, path) from error
        raise StoreError(
            f"The database {path} cannot be used: {error.strerror or error}.",
            "Check the permissions of the folder and the space on the disk.",
        ) from error
    except duckdb.Error as error:
        raise make_opening_error(error, path) from error
    # Timestamps must not depend on the time zone of the machine.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("PRAGMA disable_checkpoint_on_shutdown")
    if not read_only:
        with contextlib.suppress(OSError):
            path.chmod(0o600)  # older versions left it readable
    return connection


@contextlib.contextmanager
def open_read_only(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file for the time of a block, and translate DuckDB's exceptions.

    :raises StoreError: as :func:`open_file`, and when a statement fails.
    """
    from localcdap.store.driver import duckdb

    connection = open_file(path, read_only=True)
    try:
        yield connection
    except duckdb.Error as error:
        raise make_database_error(error, path) from error
    finally:
        connection.close()


def refuse_orphaned_log(path: Path) -> None:
    """Reject a write-ahead log with commits whose database is missing.

    :raises DamagedStoreError: when there is such a log.
    """
    log = get_log_path(path)
    if not path.exists() and log.exists() and log.stat().st_size:
        raise DamagedStoreError(
            f"The database {path} is missing, but its write-ahead log {log} is there.",
            f"Put the database back. {suggest_repair_unchanged(path)}",
        )


def make_temporary_path(path: Path) -> Path:
    """Return the path at which a process writes a file before the file takes its final path."""
    return path.with_name(f".{path.name}.{os.getpid()}{_UNFINISHED}")


def remove_temporary_files(path: Path) -> None:
    """Remove the temporary files of a database that killed processes left. The caller owns the instance."""
    for temporary in path.parent.glob(f".{path.name}.*{_UNFINISHED}*"):
        with contextlib.suppress(OSError):
            temporary.unlink()


def remove_database(path: Path) -> None:
    """Remove a database file that no process uses, and its log, if they exist."""
    for each in (path, get_log_path(path)):
        with contextlib.suppress(OSError):
            each.unlink()


def create_empty(path: Path) -> None:
    """Create an empty database that only this user can read."""
    from localcdap.store.driver import duckdb

    duckdb.connect(str(path), config=_SETTINGS).close()
    path.chmod(0o600)


def _create(path: Path) -> None:
    """Create the file under another name first: an empty file is then never a database that was begun."""
    refuse_orphaned_log(path)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = make_temporary_path(path)
    try:
        create_empty(temporary)
        sync_to_disk(temporary)
        temporary.replace(path)
    finally:
        remove_database(temporary)


def _check_header(path: Path) -> None:
    """Reject a file that is not a DuckDB database; DuckDB would try to open it as SQLite or others."""
    if not path.exists():
        return
    with path.open("rb") as file:
        start = file.read(_MAGIC_OFFSET + len(_MAGIC))
    if not start:
        raise DamagedStoreError(
            f"The database {path} is empty: it has 0 bytes.", suggest_repair_unchanged(path)
        )
    if start[_MAGIC_OFFSET:] != _MAGIC:
        raise DamagedStoreError(
            f"{path} is not a DuckDB file, or is damaged.", suggest_repair_unchanged(path)
        )
