"""Leases: who uses the Spark server, so that it is stopped only when nobody does.

A lease is a lock on a file of its own, which the kernel frees when its holder ends, however that
happens.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def lease(folder: Path) -> Iterator[None]:
    """Hold a lease for the time of a block."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{os.getpid()}-{uuid.uuid4().hex}"
    descriptor = _locked_file(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked_file(path: Path) -> int:
    """A descriptor that has the lock of a file.

    Who clears leases away may take the file for a dead one between its creation and its lock.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one with this path."""
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def are_held(folder: Path, *, by_others: bool = False) -> bool:
    """Whether anybody holds a lease.

    :param by_others: leave those of this process out.
    """
    own = f"{os.getpid()}-"
    return any(not (by_others and path.name.startswith(own)) for path in _held(folder))


def oldest(folder: Path) -> float | None:
    """When the first of the leases that are held was taken, in seconds since 1970; None for no lease."""
    times = []
    for path in _held(folder):
        with contextlib.suppress(FileNotFoundError):
            times.append(path.stat().st_mtime)
    return min(times, default=None)


def _held(folder: Path) -> list[Path]:
    """The files of leases; those of processes that ended are cleared away."""
    return [path for path in (folder.iterdir() if folder.is_dir() else ()) if not _cleared(path)]


def _cleared(path: Path) -> bool:
    """Remove a lease that nobody holds; under its lock, so that nobody can take it meanwhile."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(descriptor, path):
            path.unlink()
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file; no for a file that is not there."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who ask at the same time do not take each other for the holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
