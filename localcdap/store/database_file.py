"""Opening the DuckDB file, with a clear error for each way in which that can fail."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import DamagedStoreError, StoreError

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb

_MAGIC: Final = b"DUCK"
_MAGIC_OFFSET: Final = 8
_SETTINGS: Final[dict[str, bool]] = {
    # Opening a file must never make DuckDB download and run extensions.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


def open_file(path: Path, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """Open the database file, or create it with its folder.

    :param read_only: open an existing file without changing it.
    :raises StoreError: when another process has it open (the message names it), when it is damaged or not a
        DuckDB file (it is left unchanged), or when it cannot be written.
    """
    from localcdap.store.driver import duckdb

    try:
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_empty(path)
        _check_header(path)
        connection = duckdb.connect(str(path), read_only, config=_SETTINGS)
        # Timestamps must not depend on the time zone of the machine.
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        return connection
    except OSError as error:
        raise StoreError(
            f"The database {path} cannot be used: {error.strerror or error}.",
            "Check the permissions of the folder and the space on the disk.",
        ) from error
    except duckdb.Error as error:
        raise _translate_errors(path, error) from error


def _remove_empty(path: Path) -> None:
    """Remove the empty file of a process that was killed while it created the database."""
    if path.exists() and path.stat().st_size == 0:
        path.unlink()


def _check_header(path: Path) -> None:
    """Reject a file that is not a DuckDB database; DuckDB would try to open it as SQLite or others."""
    if not path.exists():
        return
    with path.open("rb") as file:
        start = file.read(_MAGIC_OFFSET + len(_MAGIC))
    if start[_MAGIC_OFFSET:] != _MAGIC:
        raise DamagedStoreError(
            f"{path} is not a DuckDB file, or is damaged.", suggest_repair_unchanged(path)
        )


def _translate_errors(path: Path, error: Exception) -> StoreError:
    text = str(error)
    if re.search(r"\block\b", text):
        holder = re.search(r"PID (\d+)", text)
        who = f"process {holder[1]}" if holder else "another process"
        return StoreError(
            f"The database {path} is in use by {who}.",
            f"Wait until it ends, or end {who}; only one process at a time can open the file.",
        )
    return DamagedStoreError(
        f"The database {path} cannot be read: {extract_first_line(error)}",
        suggest_repair_unchanged(path),
    )


def suggest_repair(path: Path) -> str:
    """Return the corrective action for a file that cannot be used."""
    return (
        "Run 'localcdap doctor --repair', which keeps all data that can be read, or 'localcdap restore' "
        f"with a backup, or move {path.name} and {path.name}.wal away: the next start creates a new "
        "database."
    )


def suggest_repair_unchanged(path: Path) -> str:
    """Return :func:`suggest_repair` for a file that was only read."""
    return f"{suggest_repair(path)} The file was not changed."


def extract_first_line(error: Exception) -> str:
    """Return the first line of DuckDB's message, without a stack trace or hints."""
    return str(error).strip().split("\n", 1)[0]
