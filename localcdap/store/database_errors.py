"""DuckDB's exceptions as errors of localcdap, with what to do about them."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from localcdap.api.errors import (
    ConflictError,
    DamagedStoreError,
    DiskFullError,
    LocalcdapError,
    QueryError,
    StoreError,
    TransactionConflictError,
)
from localcdap.text import format_size

_CODES: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TEXTS: Final = tuple(os.strerror(code) for code in _CODES)
"""What DuckDB's messages contain, which have no error numbers."""


def is_disk_full(error: BaseException) -> bool:
    """Return whether an exception of the system or of DuckDB says that there is no space."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _CODES
    return any(text in str(error) for text in _TEXTS)


def make_disk_full_error(
    error: BaseException, path: Path | None = None, needed: int | None = None
) -> DiskFullError:
    """Return the error to report for an exception for which :func:`is_disk_full` is true.

    :param path: the file or folder that was written; None when it is not known.
    :param needed: the number of bytes that the operation needs, if it is known.
    """
    if path is None and isinstance(error, OSError) and isinstance(error.filename, str | bytes):
        path = Path(os.fsdecode(error.filename))
    reason = next((text for text in _TEXTS if text in str(error)), "No space left on device")
    if path is None:
        return DiskFullError(f"The disk is full: {reason}.", "Free some space, then try again.")
    folder = find_existing_folder(path)
    free = shutil.disk_usage(folder).free
    more = f", and {format_size(needed)} are needed" if needed is not None else ""
    if reason == os.strerror(errno.ENOSPC):
        message = f"The disk of {folder} is full ({reason}): {format_size(free)} are free{more}."
    else:
        message = f"{path} cannot grow: {reason} ({format_size(free)} of the disk are free{more})."
    return DiskFullError(
        message, "Free some space, then try again. What was stored before can still be read."
    )


def find_existing_folder(path: Path) -> Path:
    """Return the nearest folder at or above a path that exists."""
    return next(each for each in (path, *path.absolute().parents) if each.is_dir())


def require_space(folder: Path, needed: int) -> None:
    """Check that a file of ``needed`` bytes fits on the disk of a folder, which need not exist yet.

    :raises DiskFullError: when it does not.
    """
    folder = find_existing_folder(folder)
    if shutil.disk_usage(folder).free < needed:
        raise make_disk_full_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), folder, needed)


def get_file_size(path: Path) -> int:
    """Return the bytes of a file; 0 when it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


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


_PLACE: Final = re.compile(r"\n+LINE (?P<line>\d+): (?P<text>.*)\n(?P<caret> *)\^")
_KIND: Final = re.compile(r"^[A-Za-z]+(?: [A-Z][a-z]+)* Error: ")
_INTERNAL: Final = re.compile(r'Did you mean "(pg|duckdb|sqlite)_')
_CUT: Final = "..."


def query_error(error: Exception, sql: str, memory_mb: int, lines_before: int = 0) -> QueryError:
    """Return the error for an exception of DuckDB.

    :param memory_mb: the memory limit of the query, in MiB.
    :param lines_before: the number of lines in DuckDB's statement before the first line of the query.
    """
    text = str(error).strip()
    if text.startswith("Out of Memory"):
        return QueryError(
            f"The query needs more than {memory_mb} MB of memory.",
            "Read fewer rows or columns before they are sorted, joined or grouped.",
        )
    place = _PLACE.search(text)
    body = text[: place.start()] if place is not None else text
    message, *hints = [line.strip() for line in body.splitlines() if line.strip()]
    if text.startswith("Permission Error"):
        hints = [
            "A query reads tables of the instance, not files; list the tables with SHOW ALL TABLES."
        ]
    if any(_INTERNAL.search(hint) for hint in hints):
        hints = ["SHOW ALL TABLES lists the tables."]
    line, column = None, None
    if place is not None:
        line, column = _find_position(place, sql, lines_before)
    shown = f"{_format_position(line, column)}{_to_sentence(_KIND.sub('', message))}"
    return QueryError(shown, " ".join(hints) or None, line=line, column=column)


def extract_message(error: Exception) -> str:
    """Return the first sentence of an exception of DuckDB, without its kind, position and hints."""
    return _to_sentence(_KIND.sub("", str(error).strip().partition("\n")[0].strip()))


def _format_position(line: int | None, column: int | None) -> str:
    if line is None:
        return ""
    return f"Line {line}: " if column is None else f"Line {line}, column {column}: "


def _to_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _find_position(
    place: re.Match[str], sql: str, lines_before: int
) -> tuple[int | None, int | None]:
    """Return line and column, counted from 1; DuckDB shows only a part of a long line."""
    at = len(place["caret"]) - len(f"LINE {place['line']}: ")
    number, shown = int(place["line"]) - lines_before, place["text"]
    lines = sql.splitlines()
    if not 1 <= number <= len(lines):
        return None, None
    if shown.startswith(_CUT):
        shown, at = shown.removeprefix(_CUT), at - len(_CUT)
    start = lines[number - 1].find(shown.removesuffix(_CUT))
    return (number, start + at + 1) if start >= 0 else (number, None)
