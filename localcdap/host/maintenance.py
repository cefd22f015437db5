"""Restoring and repairing an instance's database while no process uses the instance."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from localcdap.api.errors import ConflictError
from localcdap.home import Home
from localcdap.host.cdap import ask_to_leave
from localcdap.rpc.client import Client
from localcdap.rpc.host_lock import connect_or_become_host
from localcdap.store.backup import (
    DAMAGED,
    RestoredDatabase,
    format_timestamp,
    list_backups,
    restore_database,
)
from localcdap.store.repair import repair_database
from localcdap.version import VERSION


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

    See :func:`localcdap.store.repair.repair_database`. All damaged files are kept among the backups.

    :returns: a line for each step and each loss; empty when the database is not damaged.
    :raises ConflictError: when a process uses the instance.
    :raises DiskFullError: when there is no space for the repair; nothing was changed.
    :raises StoreError: when the database is intact but of another version, or cannot be moved.
    """
    with _require_unused(home):
        backups = list_backups(home.backups)
        return repair_database(home.database, backups, _make_kept_path(home, DAMAGED))


def _make_kept_path(home: Home, why: str) -> Path:
    return home.backups / f"{why}-{format_timestamp()}.duckdb"


@contextlib.contextmanager
def _require_unused(home: Home) -> Iterator[None]:
    """Hold the host lock for a block, so that no other process uses the instance.

    A host that nobody uses is ended.
    """
    end = connect_or_become_host(home.path, VERSION)
    while isinstance(end, Client):
        with contextlib.closing(end):
            users = ask_to_leave(end)
            if users:
                raise ConflictError(
                    f"Process {end.host.pid} uses the instance at {home.path} because of {', '.join(users)}.",
                    "Close them, or wait until they have ended.",
                )
        end = connect_or_become_host(home.path, VERSION)
    with contextlib.closing(end):
        yield
