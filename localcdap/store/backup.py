"""Backups of the database: copying, checking and restoring."""

from __future__ import annotations

import contextlib
import enum
import logging
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api.errors import DamagedStoreError, NotFoundError, StoreError
from localcdap.api.sql_names import quote_identifier, quote_literal
from localcdap.files.atomic import sync_to_disk
from localcdap.store.commit_record import get_log_path, get_record_path
from localcdap.store.database_errors import (
    extract_first_line,
    find_file_fault,
    get_file_size,
    is_disk_full,
    make_disk_full_error,
    require_space,
    suggest_repair_unchanged,
)
from localcdap.store.database_file import (
    create_empty,
    make_temporary_path,
    open_read_only,
    refuse_orphaned_log,
    remove_database,
    remove_temporary_files,
)
from localcdap.store.file_header import read_header
from localcdap.store.migration import SHIPPED, check_applied, read_migrations

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb

_COPY: Final = "localcdap_copy"
_CURRENT_DATABASE: Final = (
    "SELECT database_name, path, block_size * used_blocks FROM pragma_database_size() "
    "JOIN duckdb_databases() USING (database_name) WHERE database_name = current_database()"
)
"""Name and file of a connection's database, and its size without free blocks, in bytes."""
_MOST_KEPT: Final = 5
"""The automatic backups of each reason that are kept."""
_DAY: Final = timedelta(days=1)
_LOG: Final = logging.getLogger(__name__)


DAMAGED: Final = "damaged"
"""How the name of a damaged database begins that was set aside among the backups."""


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

    :raises DiskFullError: when there is no space for the copy.
    :raises DamagedStoreError: when the database is damaged.
    :raises StoreError: when the file exists already or cannot be written.
    """
    from localcdap.store.driver import duckdb

    if target.exists():
        raise StoreError(f"{target} exists already.", "Name a file that does not exist.")
    temporary = make_temporary_path(target)
    source, file, used = connection.execute(_CURRENT_DATABASE).fetchall()[0]
    with contextlib.suppress(OSError):
        used += get_log_path(Path(file)).stat().st_size
    try:
        require_space(target.parent, used)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        remove_temporary_files(target)
        create_empty(temporary)
        connection.execute(f"ATTACH {quote_literal(temporary)} AS {_COPY}")
        try:
            connection.execute(f"COPY FROM DATABASE {quote_identifier(source)} TO {_COPY}")
            connection.execute(f"CHECKPOINT {_COPY}")
        finally:
            connection.execute(f"DETACH {_COPY}")
        sync_to_disk(temporary)
        temporary.replace(target)
    except (OSError, duckdb.Error) as error:
        if is_disk_full(error):
            raise make_disk_full_error(error, target, used) from error
        fault = find_file_fault(error, Path(file))
        if fault is not None:
            raise fault from error
        raise StoreError(
            f"The backup {target} cannot be written: {extract_first_line(error)}",
            "Check the permissions of its folder and the space on the disk. No file was left.",
        ) from error
    finally:
        remove_database(temporary)
    return Backup(str(target), target.stat().st_size)


class BackupReason(enum.Enum):
    """Why localcdap makes a backup by itself; the name of its file begins with it."""

    MIGRATION = "before-migration"
    DELETION = "before-deletion"
    FORCE = "before-force"
    DAY = "daily"


def make_automatic_backup(
    connection: duckdb.DuckDBPyConnection, folder: Path, reason: BackupReason
) -> Backup | None:
    """Copy a database into a file named after a reason and the time, and remove the oldest such copies.

    :returns: None when the disk has less than twice the size of the database free: backups are not what fills
        it. A line of the log says so.
    :raises StoreError: when the copy cannot be written.
    """
    _, file, used = connection.execute(_CURRENT_DATABASE).fetchall()[0]
    used += get_file_size(get_log_path(Path(file)))
    if shutil.disk_usage(Path(file).parent).free < 2 * used:
        _LOG.warning("There is no space for a backup of %s (%s)", file, reason.value)
        return None
    backup = copy_database(connection, folder / f"{reason.value}-{format_timestamp()}.duckdb")
    for old in sorted(folder.glob(f"{reason.value}-*.duckdb"))[:-_MOST_KEPT]:
        old.unlink(missing_ok=True)
    return backup


def needs_daily_backup(connection: duckdb.DuckDBPyConnection, folder: Path) -> bool:
    """Return whether a database of the age of a day or more has no backup that is younger than a day."""
    made = connection.execute("SELECT min(applied) FROM localcdap_migrations").fetchall()[0][0]
    times = [made, *(_get_time(backup) for backup in list_backups(folder))]
    age: timedelta = datetime.now(UTC) - max(times)
    return age >= _DAY


def list_backups(folder: Path) -> list[Path]:
    """Return the backups in a folder, the newest first, without the damaged databases that were set aside."""
    found = (each for each in folder.glob("*.duckdb") if not each.name.startswith(DAMAGED))
    return sorted(found, key=_get_time, reverse=True)


def _get_time(backup: Path) -> datetime:
    return datetime.fromtimestamp(backup.stat().st_mtime, UTC)


def format_timestamp() -> str:
    """Return the current time in UTC for a file name, such as ``20261121-143059-042``; it sorts by time."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")[:-3]


def check_database(path: Path, migrations: Path = SHIPPED, *, may_be_empty: bool = False) -> None:
    """Read all data in a database file.

    :param may_be_empty: whether a file without any table is accepted.
    :raises NotFoundError: when there is no such file.
    :raises DamagedStoreError: when something in it cannot be read, or commits of it are lost.
    :raises StoreError: when it is not a database of localcdap, or of a newer version.
    """
    refuse_orphaned_log(path)
    if not path.is_file():
        raise NotFoundError(f"There is no file {path}.")
    with open_read_only(path) as connection:
        is_empty = not check_applied(connection, path, read_migrations(migrations))
        if is_empty and not may_be_empty:
            raise StoreError(f"{path} is not a database of localcdap: it is empty.")
        damaged = find_damaged_tables(connection)
    header = read_header(path)
    if header is not None and header.bytes > path.stat().st_size:
        missing = header.bytes - path.stat().st_size
        damaged.append(f"its last {missing:,} bytes are missing")
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
    temporary = make_temporary_path(path)
    try:
        require_space(path.parent, backup.stat().st_size)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copyfile(backup, temporary)
        temporary.chmod(0o600)
        sync_to_disk(temporary)
        had = path.exists()
        keep_database(path, kept)
        temporary.replace(path)
        return RestoredDatabase(str(path), str(kept) if had else None)
    except OSError as error:
        if is_disk_full(error):
            raise make_disk_full_error(error, path, backup.stat().st_size) from error
        raise StoreError(
            f"{path} cannot be replaced with {backup}: {error.strerror or error}.",
            "Check the permissions of the folder and the space on the disk.",
        ) from error
    finally:
        remove_database(temporary)


def keep_database(path: Path, kept: Path) -> None:
    """Give a closed database a second name, and move its log to that name: the log fits this file only."""
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.exists():
        os.link(path, kept)
    log = get_log_path(path)
    if log.exists():
        log.replace(get_log_path(kept))
    get_record_path(path).unlink(missing_ok=True)


def list_tables(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Return the schema and name of each table, without those of DuckDB."""
    rows = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() "
        "WHERE NOT internal AND NOT temporary AND database_name = current_database() ORDER BY ALL"
    ).fetchall()
    return [(schema, table) for schema, table in rows]


def find_damaged_tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Read all tables; return why tables cannot be read. DuckDB checks each block that it reads."""
    problems = (_find_problem(connection, table) for table in list_tables(connection))
    return [problem for problem in problems if problem]


def _find_problem(connection: duckdb.DuckDBPyConnection, table: tuple[str, str]) -> str | None:
    from localcdap.store.driver import duckdb

    try:
        connection.execute(f"SELECT count(hash(t)) FROM {quote_identifier(*table)} t").fetchall()  # noqa: S608
        return None
    except duckdb.Error as error:
        return f"table {'.'.join(table)}: {extract_first_line(error)}"
