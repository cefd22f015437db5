"""Repair of a damaged database that no process has open.

Every attempt works on links and copies beside the database. Only when the result has been read completely
does it take the database's place; what was there is kept under another name.

Copying all rows that can be read out of a damaged database.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from localcdap.api.errors import DamagedStoreError, DiskFullError, NotFoundError, StoreError
from localcdap.api.sql_names import quote_identifier, quote_literal
from localcdap.store.backup import check_database, keep_database, list_tables, restore_database
from localcdap.store.commit_record import (
    find_log_damage,
    get_log_path,
    get_record_path,
    get_recorded_iteration,
)
from localcdap.store.contents import (
    DatabaseContents,
    count_missing,
    describe_missing,
    read_contents,
)
from localcdap.store.database_errors import (
    extract_first_line,
    is_disk_full,
    make_disk_full_error,
    require_space,
)
from localcdap.store.database_file import (
    create_empty,
    make_temporary_path,
    open_read_only,
    remove_database,
    remove_temporary_files,
)
from localcdap.store.file_header import read_header, rebuild_header
from localcdap.store.migration import SHIPPED, NewerDatabaseError
from localcdap.text import format_time

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb


_COPY: Final = "localcdap_copy"
_FEWEST_ROWS: Final = 2048
"""DuckDB reads vectors of so many rows: fewer are not tried alone."""


class _Table(NamedTuple):
    source: str
    target: str
    name: str


def salvage_tables(damaged: Path, target: Path) -> dict[str, str]:
    """Copy the tables of a database that can be opened into a new file, without the rows that cannot be read.

    :returns: a text for each table that lost rows, by its name, which has its schema unless that is ``main``.
    :raises DiskFullError: when there is no space for the copy.
    :raises StoreError: when the database cannot be opened, or its catalog cannot be read.
    """
    create_empty(target)
    lost: dict[str, str] = {}
    with open_read_only(damaged) as connection:
        source = connection.execute("SELECT current_database()").fetchall()[0][0]
        connection.execute(f"ATTACH {quote_literal(target)} AS {_COPY} (READ_WRITE)")
        connection.execute(f"COPY FROM DATABASE {quote_identifier(source)} TO {_COPY} (SCHEMA)")
        for schema, name in list_tables(connection):
            table = _Table(
                quote_identifier(source, schema, name),
                quote_identifier(_COPY, schema, name),
                f"{schema}.{name}",
            )
            problem = _copy_table(connection, table)
            if problem is not None:
                lost[name if schema == "main" else f"{schema}.{name}"] = problem
        connection.execute(f"CHECKPOINT {_COPY}")
        connection.execute(f"DETACH {_COPY}")
    return lost


def _copy_table(connection: duckdb.DuckDBPyConnection, table: _Table) -> str | None:
    """Copy the rows of a table; return what is lost of them."""
    try:
        _copy_rows(connection, table, "")
        return None
    except DamagedStoreError as error:
        reason = error.message
    try:
        end = _count(connection, f"SELECT coalesce(max(rowid) + 1, 0) FROM {table.source}")  # noqa: S608
        rows = _count(connection, f"SELECT count(*) FROM {table.source}")  # noqa: S608
    except DamagedStoreError:
        return f"table {table.name} ({reason})"
    _copy_range(connection, table, 0, end)
    kept = _count(connection, f"SELECT count(*) FROM {table.target}")  # noqa: S608
    return (
        f"{rows - kept:,} of {rows:,} rows of table {table.name} ({reason})"
        if kept < rows
        else None
    )


def _copy_range(connection: duckdb.DuckDBPyConnection, table: _Table, start: int, end: int) -> None:
    """Copy the rows of a range, halving it again and again where rows cannot be read."""
    try:
        _copy_rows(connection, table, f"WHERE rowid >= {start} AND rowid < {end}")
    except DamagedStoreError:
        if end - start <= _FEWEST_ROWS:
            return
        vectors = -(-(end - start) // _FEWEST_ROWS)
        middle = start + (vectors // 2) * _FEWEST_ROWS
        _copy_range(connection, table, start, middle)
        _copy_range(connection, table, middle, end)


def _copy_rows(connection: duckdb.DuckDBPyConnection, table: _Table, condition: str) -> None:
    from localcdap.store.driver import duckdb

    try:
        connection.execute(f"INSERT INTO {table.target} FROM {table.source} {condition}")
    except duckdb.Error as error:
        if is_disk_full(error):
            raise make_disk_full_error(error) from error
        raise DamagedStoreError(extract_first_line(error)) from error


def _count(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    from localcdap.store.driver import duckdb

    try:
        found: int = connection.execute(sql).fetchall()[0][0]
        return found
    except duckdb.Error as error:
        raise DamagedStoreError(extract_first_line(error)) from error


_POSITION: Final = re.compile(r"WAL file: entry at byte position (\d+)")


class _Log(NamedTuple):
    """How much of the write-ahead log an attempt uses."""

    bytes: int
    lost: str | None
    """What is lost then; None when nothing is."""


def repair_database(
    path: Path, backups: Sequence[Path], kept: Path, migrations: Path = SHIPPED
) -> list[str]:
    """Make a damaged database usable again from what holds most of it: what is left of the file, or a backup.

    What is left is the first of these that works: the file with its write-ahead log, with the intact
    beginning of the log, or without it; a new file with all rows that can be read; the same after damaged
    headers were made again. It is compared with the backup that has the latest change, by :func:`_is_better`.
    Without either, the next start creates a new database.

    :param backups: the newest first.
    :param kept: the new path of the damaged file and of its log.
    :returns: a line for what is damaged, each step and each loss; empty when nothing is damaged.
    :raises DiskFullError: when there is no space for the repair; nothing was changed.
    :raises StoreError: when the database is intact but of another version, or a file cannot be moved.
    """
    try:
        problem = _find_problem(path, migrations)
        return [problem, *_Repair(path, kept, migrations).run(backups)] if problem else []
    except OSError as error:
        if is_disk_full(error):
            raise make_disk_full_error(error, path, path.stat().st_size) from error
        raise StoreError(
            f"{path} cannot be repaired: {error.strerror or error}.",
            "Check the permissions of its folder.",
        ) from error


class _Candidate(NamedTuple):
    """A state that may take the place of the damaged database."""

    contents: DatabaseContents
    place: Callable[[], list[str]]
    """Puts it in place, and returns the steps and losses."""
    damaged_tables: Set[str] = frozenset()
    """The tables that have lost rows."""


def _is_better(rest: _Candidate, backup: _Candidate) -> bool:
    """Return whether what is left of the database is better than a backup.

    A whole state is better than one whose last change is earlier: what the earlier one has besides was
    deleted since. One that has lost rows is better when the backup lacks more entities than it has lost, or
    when only rows are lost, and the backup has fewer.
    """
    if rest.contents.moment < backup.contents.moment:
        return False
    lacking = count_missing(backup.contents, rest.contents)
    lost = count_missing(rest.contents, backup.contents, rest.damaged_tables)
    if lost:
        return lost < lacking
    is_later = rest.contents.moment > backup.contents.moment and not rest.damaged_tables
    return is_later or lacking > 0 or rest.contents.rows >= backup.contents.rows


class _Repair:
    def __init__(self, path: Path, kept: Path, migrations: Path) -> None:
        self._path = path
        self._kept = kept
        self._migrations = migrations
        self._newer: Final[list[NewerDatabaseError]] = []
        """Why backups are left out that a newer version of localcdap has made."""
        self._copy = make_temporary_path(path)
        """A link to the database, or a copy of it, with as much of the log as an attempt uses."""
        self._saved = make_temporary_path(path.with_name(f"{path.name}.saved"))

    def run(self, backups: Sequence[Path]) -> list[str]:
        remove_temporary_files(self._path)
        try:
            rest = self._find_rest()
            backup = self._find_backup(backups)
            if rest is not None and (backup is None or _is_better(rest, backup)):
                missing = backup.contents if backup and rest.damaged_tables else None
                steps = [*rest.place(), *_describe_missing(rest, missing)]
            elif backup is not None:
                steps = [*backup.place(), *_describe_missing(backup, rest and rest.contents)]
            elif self._newer:
                raise self._newer[0]  # that version can restore it
            else:
                steps = self._give_up()
            return [
                *steps,
                *(f"A backup was left out: {each.full_message}" for each in self._newer),
            ]
        finally:
            remove_database(self._copy)
            remove_database(self._saved)

    def _find_rest(self) -> _Candidate | None:
        """Return what is left of the database."""
        rest = self._find_intact_file()
        if rest is None and self._path.exists():
            require_space(self._path.parent, self._path.stat().st_size)
        return rest or self._save_tables() or self._save_with_new_header()

    def _find_intact_file(self) -> _Candidate | None:
        """Return the file itself, if it is intact but for its log."""
        for log in self._list_logs():
            if _find_problem(self._copy, self._migrations, may_be_empty=True) is None:
                return _Candidate(read_contents(self._copy), partial(self._keep_file, log))
        return None

    def _keep_file(self, log: _Log) -> list[str]:
        """Go on with the file itself and with as much of its log as is intact."""
        path, kept = get_log_path(self._path), get_log_path(self._kept)
        steps = [f"Opened it again with {log.bytes:,} bytes of its write-ahead log."]
        if path.exists():
            kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.replace(kept)
            steps = [f"{steps[0]} The whole log is {kept}."]
        if log.bytes:
            get_log_path(self._copy).replace(path)
        get_record_path(self._path).unlink(missing_ok=True)
        return [*steps, *_describe_loss(log)]

    def _save_tables(self) -> _Candidate | None:
        """Create the database again from all rows that can be read."""
        for log in self._list_logs():
            lost = self._salvage()
            if lost is not None:
                steps = ["Created it again from all rows that can be read.", *_describe_loss(log)]
                return self._offer_saved(steps, lost)
        return None

    def _save_with_new_header(self) -> _Candidate | None:
        if not self._path.exists():
            return None
        remove_database(self._copy)  # it may be a link to the database
        shutil.copyfile(self._path, self._copy)
        create_empty(self._saved)
        was_rebuilt = rebuild_header(self._copy, self._saved)
        remove_database(self._saved)
        header = read_header(self._copy)
        if not was_rebuilt or header is None:
            return None
        is_newest = get_recorded_iteration(self._path) == header.iteration
        lost = self._salvage()
        if lost is None:
            return None
        log = get_log_path(self._kept)
        steps = [
            "Made its damaged header again, and created it again from all rows that can be read.",
            *([] if is_newest else ["Lost: perhaps the changes before the last checkpoint."]),
        ]
        if get_log_path(self._path).exists():
            steps.append(f"Lost: the changes in its write-ahead log, {log}.")
        return self._offer_saved(steps, lost)

    def _salvage(self) -> Mapping[str, str] | None:
        """Put what can be read of the copy into a new file.

        :returns: what each table has lost, by its name; None when too little can be read.
        """
        remove_database(self._saved)
        try:
            lost = salvage_tables(self._copy, self._saved)
            check_database(self._saved, self._migrations)
        except DiskFullError:
            raise
        except StoreError:
            return None
        return lost

    def _offer_saved(self, steps: Sequence[str], lost: Mapping[str, str]) -> _Candidate:
        def place() -> list[str]:
            keep_database(self._path, self._kept)
            self._saved.replace(self._path)
            losses = [f"Lost: {each}." for each in lost.values()]
            return [*steps, *losses, f"The damaged file is {self._kept}."]

        return _Candidate(read_contents(self._saved), place, lost.keys())

    def _find_backup(self, backups: Sequence[Path]) -> _Candidate | None:
        """Return the usable backup with the latest change, the newest of several."""
        best: _Candidate | None = None
        for backup in backups:
            try:
                check_database(backup, self._migrations)
                contents = read_contents(backup)
            except NewerDatabaseError as error:
                self._newer.append(error)
                continue
            except StoreError:
                continue
            if best is None or contents.moment > best.contents.moment:
                best = _Candidate(contents, partial(self._restore, backup))
        return best

    def _restore(self, backup: Path) -> list[str]:
        moment = datetime.fromtimestamp(backup.stat().st_mtime).astimezone()
        restore_database(backup, self._path, self._kept, self._migrations)
        return [
            f"Restored the backup that holds most, {backup}.",
            f"Lost: all changes after {moment:%Y-%m-%d %H:%M:%S}.",
            f"The damaged file is {self._kept}.",
        ]

    def _give_up(self) -> list[str]:
        keep_database(self._path, self._kept)
        self._path.unlink(missing_ok=True)
        return [
            f"Moved it to {self._kept}: no table can be read and there is no usable backup.",
            "Lost: everything in it. The next start creates a new database.",
        ]

    def _list_logs(self) -> Iterator[_Log]:
        """Yield how much of the log may be used, the most first; the copy has that much meanwhile."""
        log = get_log_path(self._path)
        damage = find_log_damage(self._path)
        if not self._path.exists():
            return
        if not log.exists():
            self._link(0)
            yield _Log(0, damage)
            return
        size = log.stat().st_size
        self._link(size)
        yield _Log(size, damage)
        position = self._find_log_damage()
        if position is not None:
            self._link(position)
            yield _Log(
                position, f"the changes after byte {position:,} of {size:,} of its write-ahead log"
            )
        self._link(0)
        yield _Log(
            0, f"the changes after its last checkpoint, {size:,} bytes of its write-ahead log"
        )

    def _link(self, log_bytes: int) -> None:
        remove_database(self._copy)
        os.link(self._path, self._copy)
        if log_bytes:
            copy = get_log_path(self._copy)
            shutil.copyfile(get_log_path(self._path), copy)
            copy.chmod(0o600)
            os.truncate(copy, log_bytes)

    def _find_log_damage(self) -> int | None:
        """Return the position of the first entry of the log that DuckDB cannot read, in bytes."""
        found = _POSITION.search(_find_problem(self._copy, self._migrations) or "")
        return int(found[1]) if found else None


def _describe_loss(log: _Log) -> list[str]:
    return [f"Lost: {log.lost}."] if log.lost else []


def _describe_missing(chosen: _Candidate, other: DatabaseContents | None) -> list[str]:
    """Return a line that names what another state has, and the chosen one has not; none without any."""
    missing = list(describe_missing(chosen.contents, other)) if other is not None else []
    if not missing:
        return []
    since = f" since {format_time(chosen.contents.moment)}" if chosen.contents.moment else ""
    return [f"Lost: {', '.join(missing)}{since}."]


def _find_problem(database: Path, migrations: Path, *, may_be_empty: bool = False) -> str | None:
    """Return what is damaged in a database; None when it is intact or does not exist.

    :raises StoreError: when it is intact but not for this version of localcdap.
    """
    try:
        check_database(database, migrations, may_be_empty=may_be_empty)
    except NotFoundError:
        return None
    except DamagedStoreError as error:
        return error.message
    return None
