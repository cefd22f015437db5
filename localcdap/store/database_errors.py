"""DuckDB's exceptions as errors of localcdap, with what to do about them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from localcdap.api.errors import (
    ConflictError,
    DamagedStoreError,
    DiskFullError,
    LocalcdapError,
    StoreError,
    TransactionConflictError,
)
from localcdap.store.disk_space import is_disk_full, make_disk_full_error

_DAMAGED: Final = re.compile(
    r"Corrupt (database|WAL) file|Could not read enough bytes from file|Failure while replaying WAL"
    r"|Failed to load metadata pointer|Failed to deserialize"
)
_OTHER_VERSION: Final = re.compile(r"storage version number (\d+)")
_INVALIDATED: Final = "database has been invalidated"


class translate_errors:  # noqa: N801  it is used like a function
    """Translate DuckDB's exceptions that a block raises into errors of localcdap.

    :param path: of the database, for messages.
    :param invalidate: called when DuckDB will reject all further use until the file is opened again.
    """

    # A class, because a transaction enters several, and one made of a generator takes four times as long.

    __slots__ = ("_invalidate", "_path")

    def __init__(self, path: Path, invalidate: Callable[[], None]) -> None:
        self._path = path
        self._invalidate = invalidate

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        from localcdap.store.driver import duckdb

        if isinstance(error, duckdb.Error):
            if isinstance(error, duckdb.FatalException) or _INVALIDATED in str(error):
                self._invalidate()
            raise make_database_error(error, self._path) from error


def make_database_error(error: Exception, path: Path) -> LocalcdapError:
    """Return the error for an exception of DuckDB about an open database."""
    from localcdap.store.driver import duckdb

    fault = find_file_fault(error, path)
    if fault is not None:
        return fault
    refused = f"The database refuses: {extract_first_line(error)}"
    if isinstance(error, duckdb.ConstraintException):
        return ConflictError(refused)
    if isinstance(error, duckdb.TransactionException):
        return TransactionConflictError(refused)
    return StoreError(refused)


def find_file_fault(error: Exception, path: Path) -> DiskFullError | DamagedStoreError | None:
    """Return the error for an exception that a full disk or a damaged database caused, else None."""
    if is_disk_full(error):
        return make_disk_full_error(error, path)
    if _DAMAGED.search(str(error)):
        return _make_damaged_error(error, path)
    return None


def make_opening_error(error: Exception, path: Path) -> StoreError:
    """Return the error for an exception of DuckDB that occurred when it opened a file."""
    text = str(error)
    if is_disk_full(error):
        return make_disk_full_error(error, path)
    if re.search(r"\block\b", text):
        holder = re.search(r"PID (\d+)", text)
        who = f"process {holder[1]}" if holder else "another process"
        return StoreError(
            f"The database {path} is in use by {who}.",
            f"Wait until it ends, or end {who}; only one process at a time can open the file.",
        )
    version = _OTHER_VERSION.search(text)
    if version is not None:
        return StoreError(
            f"The database {path} was made by another version of DuckDB: {extract_first_line(error)}",
            "Upgrade: pip install --upgrade localcdap duckdb. The file is not damaged and was not changed.",
        )
    return _make_damaged_error(error, path)


def _make_damaged_error(error: Exception, path: Path) -> DamagedStoreError:
    return DamagedStoreError(
        f"The database {path} is damaged: {extract_first_line(error)}",
        suggest_repair_unchanged(path),
    )


def suggest_repair(path: Path) -> str:
    """Return the corrective action for a damaged file."""
    return (
        "Run 'localcdap doctor --repair', which keeps all data that can be read, or "
        f"{suggest_replacement(path)}"
    )


def suggest_repair_unchanged(path: Path) -> str:
    """Return :func:`suggest_repair` for a file that was only read."""
    return f"{suggest_repair(path)} The file was not changed."


def suggest_replacement(path: Path) -> str:
    """Return the corrective action for a file that is intact, but of no use: the end of a sentence."""
    return (
        f"'localcdap restore' with a backup, or move {path.name} and {path.name}.wal away: the next start "
        "creates a new database."
    )


def extract_first_line(error: Exception) -> str:
    """Return the first line of DuckDB's message, without a stack trace or hints."""
    return str(error).strip().split("\n", 1)[0]
