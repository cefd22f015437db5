"""Migrations: SQL files ``NNNN_name.sql`` that upgrade a database to the tables of this version.

A database records the name and checksum of each migration that it has. A migration that was shipped is
never edited; a change of tables is a new file.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Set
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from localcdap.api.errors import StoreError
from localcdap.store.database_errors import (
    extract_first_line,
    find_file_fault,
    suggest_replacement,
)

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb

SHIPPED: Final = Path(__file__).parent / "migrations"
_NAME: Final = re.compile(r"(\d{4})_\w+\.sql")
_TABLE: Final = "localcdap_migrations"


class Migration(NamedTuple):
    number: int
    name: str
    """The file name without its suffix."""
    sql: str
    checksum: str


def read_migrations(folder: Path) -> list[Migration]:
    """Return the migrations in a folder, in their order.

    :raises StoreError: when a file's name is wrong or a number is used twice.
    """
    found: dict[int, Migration] = {}
    for file in sorted(folder.glob("*.sql")):
        match = _NAME.fullmatch(file.name)
        if match is None:
            raise StoreError(f"Migration {file.name} must be called NNNN_name.sql.")
        number, sql = int(match[1]), file.read_text(encoding="utf-8")
        if number in found:
            raise StoreError(
                f"Migrations {found[number].name} and {file.stem} have the same number."
            )
        checksum = hashlib.sha256(sql.encode()).hexdigest()
        found[number] = Migration(number, file.stem, sql, checksum)
    return list(found.values())


def migrate(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    migrations: list[Migration],
    back_up: Callable[[], object] = lambda: None,
) -> list[str]:
    """Apply the migrations that the database does not have yet, in order, each in a separate transaction.

    A new database gets all of them in one transaction, which takes half of the time. A number
    below one that was applied is applied too: each package has its own range of numbers.

    :param path: of the database, for messages.
    :param back_up: called before a database that already has migrations is changed.
    :returns: the names of the migrations that were applied.
    :raises NewerDatabaseError: when it has migrations that this version does not know.
    :raises StoreError: when the file is not a database of localcdap.
    """
    applied = check_applied(connection, path, migrations)
    pending = [m for m in migrations if m.number not in applied]
    if not applied and pending:
        _apply(connection, path, pending)
    elif pending:
        back_up()
        for migration in pending:
            _apply(connection, path, [migration])
    return [m.name for m in pending]


class NewerDatabaseError(StoreError):
    """A database has migrations that this version of localcdap does not know; the message names them."""


def check_applied(
    connection: duckdb.DuckDBPyConnection, path: Path, migrations: list[Migration]
) -> Set[int]:
    """Return the numbers of the migrations that the database has.

    :raises StoreError: when the file is not a database of localcdap, or has migrations that this version
        does not know.
    """
    applied = _read_applied(connection, path)
    by_number = {m.number: m for m in migrations}
    unknown = [name for number, (name, _) in applied.items() if number not in by_number]
    if unknown:
        raise NewerDatabaseError(
            f"The database {path} was made by a newer localcdap (it has {', '.join(unknown)}).",
            "Upgrade: pip install --upgrade localcdap.",
        )
    for number, (name, checksum) in applied.items():
        if by_number[number].checksum != checksum:
            raise StoreError(
                f"The database {path} was made with a different version of migration {name}.",
                "Install the version of localcdap that made it (the file is not damaged), or "
                f"use {suggest_replacement(path)}",
            )
    return applied.keys()


def _read_applied(connection: duckdb.DuckDBPyConnection, path: Path) -> dict[int, tuple[str, str]]:
    """Return the name and checksum of each applied migration, by number."""
    from localcdap.store.driver import duckdb

    try:
        rows = connection.execute(f"SELECT number, name, checksum FROM {_TABLE} ORDER BY number")  # noqa: S608
    except duckdb.CatalogException:  # there is no such table
        tables = {row[0] for row in connection.execute(_OUR_TABLES).fetchall()}
        if tables:
            raise StoreError(
                f"{path} is a DuckDB file, but not a database of localcdap (it has the table {min(tables)}).",
                f"Use {suggest_replacement(path)} The file was not changed.",
            ) from None
        return {}
    return {number: (name, checksum) for number, name, checksum in rows.fetchall()}


_OUR_TABLES: Final = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary"


def _apply(connection: duckdb.DuckDBPyConnection, path: Path, migrations: list[Migration]) -> None:
    """Apply migrations in one transaction."""
    from localcdap.store.driver import duckdb

    name = migrations[0].name
    connection.begin()
    try:
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {_TABLE} (number INTEGER PRIMARY KEY, name VARCHAR, "
            "checksum VARCHAR, applied TIMESTAMPTZ)"
        )
        for migration in migrations:
            name = migration.name
            connection.execute(migration.sql)
        rows = [(m.number, m.name, m.checksum) for m in migrations]
        connection.execute(
            f"INSERT INTO {_TABLE} SELECT unnest(?), unnest(?), unnest(?), now()",
            [list(column) for column in zip(*rows, strict=True)],
        )
        connection.commit()
    except duckdb.Error as error:
        with contextlib.suppress(duckdb.Error):  # a failed commit has rolled back already
            connection.rollback()
        fault = find_file_fault(error, path)
        if fault is not None:
            raise fault from error
        raise StoreError(
            f"Migration {name} of {path} failed: {extract_first_line(error)}",
            f"The database is as before: go on with the version of localcdap that made it, or use "
            f"{suggest_replacement(path)}",
        ) from error
