"""One error for a full disk, wherever it is noticed: what is full, what is free, and how much is needed."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Final

from localcdap.api.errors import DiskFullError
from localcdap.text import format_size

_CODES: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TEXTS: Final = tuple(os.strerror(code) for code in _CODES)
"""What DuckDB's messages contain, which have no error numbers."""


def is_disk_full(error: BaseException) -> bool:
    """Return whether an exception of the system or of DuckDB says that there is no space."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _CODES
    return any(text in str(error) for text in _TEXTS)


def make_disk_full_error(
    error: BaseException, path: Path | None = None, needed: int | None = None
) -> DiskFullError:
    """Return the error to report for an exception for which :func:`is_disk_full` is true.

    :param path: the file or folder that was written; None when it is not known.
    :param needed: the number of bytes that the operation needs, if it is known.
    """
    if path is None and isinstance(error, OSError) and isinstance(error.filename, str | bytes):
        path = Path(os.fsdecode(error.filename))
    reason = next((text for text in _TEXTS if text in str(error)), "No space left on device")
    if path is None:
        return DiskFullError(f"The disk is full: {reason}.", "Free some space, then try again.")
    folder = find_existing_folder(path)
    free = shutil.disk_usage(folder).free
    more = f", and {format_size(needed)} are needed" if needed is not None else ""
    if reason == os.strerror(errno.ENOSPC):
        message = f"The disk of {folder} is full ({reason}): {format_size(free)} are free{more}."
    else:
        message = f"{path} cannot grow: {reason} ({format_size(free)} of the disk are free{more})."
    return DiskFullError(
        message, "Free some space, then try again. What was stored before can still be read."
    )


def find_existing_folder(path: Path) -> Path:
    """Return the nearest folder at or above a path that exists."""
    return next(each for each in (path, *path.absolute().parents) if each.is_dir())


def require_space(folder: Path, needed: int) -> None:
    """Check that a file of ``needed`` bytes fits on the disk of a folder, which need not exist yet.

    :raises DiskFullError: when it does not.
    """
    folder = find_existing_folder(folder)
    if shutil.disk_usage(folder).free < needed:
        raise make_disk_full_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), folder, needed)


def get_file_size(path: Path) -> int:
    """Return the bytes of a file; 0 when it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
