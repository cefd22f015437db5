"""What is done to an instance's database while nobody uses it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from localcdap.api.errors import ConflictError, DamagedStoreError, NotFoundError, StoreError
from localcdap.home import Home
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
    """Put a backup in the place of the database; the present one is kept among the backups.

    :raises NotFoundError: when there is no such backup.
    :raises ConflictError: when a process uses the instance.
    :raises StoreError: when the backup is no good; nothing is changed then.
    """
    with _unused(home):
        return restore_database(backup, home.database, _kept(home, "before-restore"))


def repair(home: Home) -> list[str]:
    """Make a damaged database usable again, losing as little as can be.

    First without its write-ahead log, then from its tables that can be read, then from the newest good
    backup; a new one is made by the next start when nothing else is left. Everything damaged is kept
    among the backups.

    :returns: what was done, a line for each step; empty when nothing is wrong.
    :raises ConflictError: when a process uses the instance.
    :raises StoreError: when the database is in order but of a newer localcdap, or cannot be moved.
    """
    with _unused(home):
        problem = _problem(home.database)
        if problem is None:
            return []
        steps = [problem]
        log = get_log_path(home.database)
        if log.exists():
            kept = get_log_path(_kept(home, "damaged"))
            kept.parent.mkdir(parents=True, exist_ok=True)
            log.replace(kept)
            steps.append(
                f"Moved its write-ahead log to {kept}: what was last written to it is lost."
            )
            if _problem(home.database) is None:
                return steps
        return steps + _replaced(home)


def _replaced(home: Home) -> list[str]:
    kept = _kept(home, "damaged")
    with contextlib.suppress(StoreError):
        lost = salvage_database(home.database, kept)
        lines = [f"Lost: {each}." for each in lost]
        return ["Made it anew from what can be read.", *lines, f"The damaged file is {kept}."]
    for backup in sorted(home.backups.glob("*.duckdb"), key=_age):
        with contextlib.suppress(StoreError):
            restore_database(backup, home.database, kept)
            return [f"Restored the newest good backup, {backup}.", f"The damaged file is {kept}."]
    quarantine_database(home.database, kept)
    return [
        f"Moved it to {kept}: nothing in it can be read and there is no good backup.",
        "The next start makes a new database.",
    ]


def _problem(database: Path) -> str | None:
    """Return what is damaged in a database; None when there is none yet, too.

    :raises StoreError: when it is in order but none for this version of localcdap.
    """
    try:
        check_database(database)
    except NotFoundError:
        return None
    except DamagedStoreError as error:
        return error.message
    return None


def _age(backup: Path) -> float:
    """For sorting, newest first."""
    return -backup.stat().st_mtime


def _kept(home: Home, why: str) -> Path:
    return home.backups / f"{why}-{format_timestamp()}.duckdb"


@contextlib.contextmanager
def _unused(home: Home) -> Iterator[None]:
    """Keep everybody else from using the instance."""
    end = connect_or_become_host(home.path, metadata.version("localcdap"))
    with contextlib.closing(end):
        if isinstance(end, Client):
            raise ConflictError(
                f"Process {end.host.pid} uses the instance at {home.path}.",
                "Close it, or wait until its runs have ended.",
            )
        yield
