"""Opening the DuckDB file, with every way in which that fails put into words."""

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
    # A file must never make DuckDB fetch and run code from the network.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


def open_file(path: Path, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """Open the file, or create it with its folder.

    :param read_only: only look at a file that is there; nothing about it is changed.

    :raises StoreError: when another process has it open (named), when it is damaged or no DuckDB file
        (it is left as it is), or when it cannot be written.
    """
    from localcdap.store.driver import duckdb

    try:
        if not read_only:
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_empty(path)
        _check_header(path)
        connection = duckdb.connect(str(path), read_only, config=_SETTINGS)
        # Timestamps mean the same wherever the machine is.
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
    """Remove what a process left that was killed while it made the file."""
    if path.exists() and path.stat().st_size == 0:
        path.unlink()


def _check_header(path: Path) -> None:
    """Refuse a file that is not DuckDB's before DuckDB guesses what else it may be."""
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
            f"Wait until it is done, or end {who}; one process can use an instance's file.",
        )
    return DamagedStoreError(
        f"The database {path} cannot be read: {extract_first_line(error)}",
        suggest_repair_unchanged(path),
    )


def suggest_repair(path: Path) -> str:
    """What to do about a file that cannot be used."""
    return (
        "Run 'localcdap doctor --repair', which saves what can be read, or 'localcdap restore' with a "
        f"backup, or move {path.name} and {path.name}.wal away: the next start makes a new database."
    )


def suggest_repair_unchanged(path: Path) -> str:
    """:func:`suggest_repair` of a file that was only looked at."""
    return f"{suggest_repair(path)} The file was not changed."


def extract_first_line(error: Exception) -> str:
    """DuckDB's message without the stack trace and hints that may follow."""
    return str(error).strip().split("\n", 1)[0]
