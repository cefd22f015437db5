"""Waiting until files and folders are on the disk."""

from __future__ import annotations

import os
from pathlib import Path


def sync_to_disk(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk (``fsync``).

    :raises OSError: when the path cannot be opened or written.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
