"""Restoring and repairing an instance's database while no process uses the instance."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from localcdap.api.errors import ConflictError, DamagedStoreError, NotFoundError, StoreError
from localcdap.home import Home
from localcdap.host.cdap import ask_to_leave
from localcdap.rpc.client import Client
from localcdap.rpc.host_lock import connect_or_become_host
from localcdap.store.backup import (
    RestoredDatabase,
    check_database,
    format_timestamp,
    get_log_path,
    quarantine_database,
    restore_database,
    salvage_database,
)


def restore(home: Home, backup: Path) -> RestoredDatabase:
    """Replace the database with a backup; the current database is kept among the backups.

    :raises NotFoundError: when there is no such backup.
    :raises ConflictError: when a process uses the instance.
    :raises StoreError: when the backup cannot be used; then nothing is changed.
    """
    with _require_unused(home):
        return restore_database(backup, home.database, _make_kept_path(home, "before-restore"))


def repair(home: Home) -> list[str]:
    """Make a damaged database usable again, with as little loss as possible.

    The repair tries to open it without its write-ahead log, then copies all tables that can be read, then
    restores the newest usable backup. If nothing helps, the next start creates a new database. All damaged
    files are kept among the backups.

    :returns: a line for each step; empty when the database is not damaged.
    :raises ConflictError: when a process uses the instance.
    :raises StoreError: when the database is intact but of a newer version, or cannot be moved.
    """
    with _require_unused(home):
        problem = _find_problem(home.database)
        if problem is None:
            return []
        steps = [problem]
        log = get_log_path(home.database)
        if log.exists():
            kept = get_log_path(_make_kept_path(home, "damaged"))
            kept.parent.mkdir(parents=True, exist_ok=True)
            log.replace(kept)
            steps.append(f"Moved its write-ahead log to {kept}: the latest changes are lost.")
            if _find_problem(home.database) is None:
                return steps
        return steps + _replace_damaged(home)


def _replace_damaged(home: Home) -> list[str]:
    kept = _make_kept_path(home, "damaged")
    with contextlib.suppress(StoreError):
        lost = salvage_database(home.database, kept)
        lines = [f"Lost: {each}." for each in lost]
        return [
            "Created it again from all readable tables.",
            *lines,
            f"The damaged file is {kept}.",
        ]
    for backup in sorted(home.backups.glob("*.duckdb"), key=_get_age_key):
        with contextlib.suppress(StoreError):
            restore_database(backup, home.database, kept)
            return [f"Restored the newest usable backup, {backup}.", f"The damaged file is {kept}."]
    quarantine_database(home.database, kept)
    return [
        f"Moved it to {kept}: no table can be read and there is no usable backup.",
        "The next start creates a new database.",
    ]


def _find_problem(database: Path) -> str | None:
    """Return what is damaged in a database; None when it is intact or does not exist.

    :raises StoreError: when it is intact but not for this version of localcdap.
    """
    try:
        check_database(database)
    except NotFoundError:
        return None
    except DamagedStoreError as error:
        return error.message
    return None


def _get_age_key(backup: Path) -> float:
    """Return a sort key that puts the newest backup first."""
    return -backup.stat().st_mtime


def _make_kept_path(home: Home, why: str) -> Path:
    return home.backups / f"{why}-{format_timestamp()}.duckdb"


@contextlib.contextmanager
def _require_unused(home: Home) -> Iterator[None]:
    """Hold the host lock for a block, so that no other process uses the instance.

    A host that nobody uses is ended.
    """
    end = connect_or_become_host(home.path, metadata.version("localcdap"))
    while isinstance(end, Client):
        with contextlib.closing(end):
            users = ask_to_leave(end)
            if users:
                raise ConflictError(
                    f"Process {end.host.pid} uses the instance at {home.path} because of {', '.join(users)}.",
                    "Close them, or wait until they have ended.",
                )
        end = connect_or_become_host(home.path, metadata.version("localcdap"))
    with contextlib.closing(end):
        yield
