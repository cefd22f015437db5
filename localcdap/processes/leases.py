"""Leases: which processes use something, such as the Spark server, which is ended only when none does.

A lease is a lock on a file of its own, which the kernel releases when the process ends, in whatever way.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def hold_lease(folder: Path) -> Iterator[None]:
    """Hold a lease for the duration of a block."""
    path, descriptor = take_lease(folder)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def take_lease(folder: Path) -> tuple[Path, int]:
    """Hold a lease until this process and all forks of it end; return its file, and its descriptor."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{os.getpid()}-{uuid.uuid4().hex}"
    return path, _open_locked(path)


def _open_locked(path: Path) -> int:
    """Open a file, lock it and return its descriptor.

    Another process that removes abandoned leases may remove the file between its creation and its lock.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_file_at(descriptor, path):
            return descriptor
        os.close(descriptor)


def _is_file_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the file of this path."""
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def are_leases_held(folder: Path, *, by_others: bool = False) -> bool:
    """Whether any process holds a lease.

    :param by_others: ignore the leases of this process.
    """
    own = f"{os.getpid()}-"
    return any(not (by_others and path.name.startswith(own)) for path in _list_held(folder))


def list_holders(folder: Path) -> list[int]:
    """Return the ids of the processes that took the leases that are held."""
    return [int(path.name.partition("-")[0]) for path in _list_held(folder)]


def find_oldest_lease(folder: Path) -> float | None:
    """Return when the oldest held lease was taken, in seconds since 1970; None when no lease is held."""
    times = []
    for path in _list_held(folder):
        with contextlib.suppress(FileNotFoundError):
            times.append(path.stat().st_mtime)
    return min(times, default=None)


def _list_held(folder: Path) -> list[Path]:
    """Return the files of held leases; remove those of processes that have ended."""
    return [
        path for path in (folder.iterdir() if folder.is_dir() else ()) if not _remove_if_free(path)
    ]


def _remove_if_free(path: Path) -> bool:
    """Remove a lease that no process holds; say whether it is gone.

    It is removed under its lock, so that no process can take it meanwhile.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_file_at(descriptor, path):
            path.unlink()
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
