"""Backups of the database: copying, checking, restoring, and salvaging a damaged file."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api.errors import DamagedStoreError, NotFoundError, StoreError
from localcdap.store.columns import quote_identifier, quote_literal
from localcdap.store.database_file import extract_first_line, open_file, suggest_repair_unchanged
from localcdap.store.migration import SHIPPED, check_applied, read_migrations

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb

_COPY: Final = "localcdap_copy"
_BEFORE_MIGRATION: Final = "before-migration-"
_MOST_KEPT: Final = 5


class Backup(msgspec.Struct, frozen=True):
    """A copy of the database."""

    file: str
    bytes: int


class RestoredDatabase(msgspec.Struct, frozen=True):
    """The result of replacing a database with a backup."""

    file: str
    kept: str | None
    """The new path of the database that was replaced; None when there was none."""


def copy_database(connection: duckdb.DuckDBPyConnection, target: Path) -> Backup:
    """Copy the committed state into a new file, which appears complete or not at all.

    Other connections may read and write meanwhile.

    :raises StoreError: when the file exists already or cannot be written.
    """
    from localcdap.store.driver import duckdb

    if target.exists():
        raise StoreError(f"{target} exists already.", "Name a file that does not exist.")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        source = connection.execute("SELECT current_database()").fetchall()[0][0]
        connection.execute(f"ATTACH {quote_literal(unfinished)} AS {_COPY}")
        try:
            connection.execute(f"COPY FROM DATABASE {quote_identifier(source)} TO {_COPY}")
        finally:
            connection.execute(f"DETACH {_COPY}")
        _flush(unfinished)
        unfinished.replace(target)
    except (OSError, duckdb.Error) as error:
        raise StoreError(
            f"The backup {target} cannot be written: {extract_first_line(error)}",
            "Check the permissions of its folder and the space on the disk. No file was left.",
        ) from error
    finally:
        _remove(unfinished)
    return Backup(str(target), target.stat().st_size)


def back_up_before_migration(connection: duckdb.DuckDBPyConnection, folder: Path) -> Backup:
    """Copy a database into a file named after the current time, and remove the oldest such copies.

    :raises StoreError: when the copy cannot be written.
    """
    backup = copy_database(connection, folder / f"{_BEFORE_MIGRATION}{format_timestamp()}.duckdb")
    copies = sorted(folder.glob(f"{_BEFORE_MIGRATION}*.duckdb"))
    for old in copies[:-_MOST_KEPT]:
        old.unlink(missing_ok=True)
    return backup


def format_timestamp() -> str:
    """Return the current time in UTC for a file name, such as ``20261121-143059-042``; it sorts by time."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")[:-3]


def check_database(path: Path, migrations: Path = SHIPPED) -> None:
    """Read all data in a database file.

    :raises NotFoundError: when there is no such file.
    :raises DamagedStoreError: when something in it cannot be read.
    :raises StoreError: when it is not a database of localcdap, or of a newer version.
    """
    if not path.is_file():
        raise NotFoundError(f"There is no file {path}.")
    with _open_read_only(path) as connection:
        if not check_applied(connection, path, read_migrations(migrations)):
            raise StoreError(f"{path} is not a database of localcdap: it is empty.")
        problems = [_find_problem(connection, table) for table in _list_tables(connection)]
    damaged = [problem for problem in problems if problem]
    if damaged:
        raise DamagedStoreError(
            f"The database {path} is damaged: {'; '.join(damaged)}", suggest_repair_unchanged(path)
        )


def restore_database(
    backup: Path, path: Path, kept: Path, migrations: Path = SHIPPED
) -> RestoredDatabase:
    """Replace the database, which no process may have open, with a copy of a backup.

    :param kept: the new path of the current database and of its write-ahead log, if it has one.
    :raises NotFoundError: when there is no such backup.
    :raises StoreError: when the backup cannot be used; the database is then unchanged.
    """
    check_database(backup, migrations)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(backup, unfinished)
        _flush(unfinished)
        had = path.exists()
        if had:
            _keep(path, kept)
        unfinished.replace(path)
        return RestoredDatabase(str(path), str(kept) if had else None)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be replaced with {backup}: {error.strerror or error}.",
            "Check the permissions of the folder and the space on the disk.",
        ) from error
    finally:
        _remove(unfinished)


def salvage_database(path: Path, kept: Path) -> list[str]:
    """Replace a damaged database that can be opened by a new one with all tables that can be read.

    :param kept: the new path of the damaged file.
    :returns: a line for each table that is lost.
    :raises StoreError: when the database cannot be opened.
    """
    from localcdap.store.driver import duckdb

    saved = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    lost: list[str] = []
    try:
        with _open_read_only(path) as connection:
            source = connection.execute("SELECT current_database()").fetchall()[0][0]
            connection.execute(f"ATTACH {quote_literal(saved)} AS {_COPY} (READ_WRITE)")
            connection.execute(f"COPY FROM DATABASE {quote_identifier(source)} TO {_COPY} (SCHEMA)")
            for schema, table in _list_tables(connection):
                try:
                    connection.execute(
                        f"INSERT INTO {quote_identifier(_COPY, schema, table)} "
                        f"FROM {quote_identifier(source, schema, table)}"
                    )
                except duckdb.Error as error:
                    lost.append(f"table {schema}.{table}: {extract_first_line(error)}")
            connection.execute(f"DETACH {_COPY}")
        _keep(path, kept)
        saved.replace(path)
    except (OSError, duckdb.Error) as error:
        raise StoreError(
            f"Nothing can be salvaged from {path}: {extract_first_line(error)}"
        ) from error
    finally:
        _remove(saved)
    return lost


def quarantine_database(path: Path, kept: Path) -> None:
    """Move a damaged database and its write-ahead log to another path.

    :raises StoreError: when they cannot be moved.
    """
    try:
        _keep(path, kept)
        path.unlink()
    except OSError as error:
        raise StoreError(f"{path} cannot be moved to {kept}: {error.strerror}.") from error


def get_log_path(path: Path) -> Path:
    """Return the path of a database's write-ahead log, which holds the commits since its last checkpoint."""
    return path.with_name(f"{path.name}.wal")


@contextlib.contextmanager
def _open_read_only(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = open_file(path, read_only=True)
    try:
        yield connection
    finally:
        connection.close()


def _list_tables(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    rows = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() "
        "WHERE NOT internal AND NOT temporary AND database_name = current_database() ORDER BY ALL"
    ).fetchall()
    return [(schema, table) for schema, table in rows]


def _find_problem(connection: duckdb.DuckDBPyConnection, table: tuple[str, str]) -> str | None:
    """Return why a table cannot be read; DuckDB verifies the checksum of each block that it reads."""
    from localcdap.store.driver import duckdb

    try:
        connection.execute(f"SELECT count(hash(t)) FROM {quote_identifier(*table)} t").fetchall()  # noqa: S608
        return None
    except duckdb.Error as error:
        return f"table {'.'.join(table)}: {extract_first_line(error)}"


def _keep(path: Path, kept: Path) -> None:
    """Link the database under a second name, and move its log to that name: the log fits this file only."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    os.link(path, kept)
    log = get_log_path(path)
    if log.exists():
        log.replace(get_log_path(kept))


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    for each in (path, get_log_path(path)):
        with contextlib.suppress(OSError):
            each.unlink()
