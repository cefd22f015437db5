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
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{os.getpid()}-{uuid.uuid4().hex}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def are_held(folder: Path) -> bool:
    """Whether anybody holds a lease; those of processes that ended are cleared away."""
    held = False
    for path in folder.iterdir() if folder.is_dir() else ():
        if is_locked(path):
            held = True
        else:
            path.unlink(missing_ok=True)
    return held


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file; no for a file that is not there."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
