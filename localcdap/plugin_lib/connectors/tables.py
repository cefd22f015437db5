"""Tables as what a connection shows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from localcdap.api import BrowseEntity, BrowseProperty
from localcdap.api.errors import NotFoundError
from localcdap.text import format_available


def describe_table(path: str, rows: int | None, type: str = "table") -> BrowseEntity:
    """Return a table as an entity that can be sampled.

    :param path: ends with the name of the table.
    :param rows: None where their number is not known.
    """
    properties = {} if rows is None else {"Rows": BrowseProperty(str(rows), "NUMBER")}
    name = path.rpartition("/")[2]
    return BrowseEntity(name, path, type, can_sample=True, properties=properties)


def make_missing_error(table: str, known: Iterable[str]) -> NotFoundError:
    """Return the error for a table that does not exist."""
    shown = format_available(table, sorted(known))
    return NotFoundError(f"There is no table '{table}'; available: {shown}.")


def find_file_version(path: str) -> str:
    """Return what changes when a database file is written, also by SQLite's log of writes beside it."""
    found = []
    for each in (Path(path), Path(f"{path}-wal")):
        try:
            status = each.stat()
        except OSError:
            continue
        found.append(f"{status.st_ino} {status.st_size} {status.st_mtime_ns}")
    return "; ".join(found)
