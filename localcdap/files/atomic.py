"""Atomic writing of files, which respects the read-only mark of a file and its folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from localcdap.api.errors import BadRequestError


def write_file(path: Path, text: str) -> None:
    """Replace a file by a text, atomically.

    :raises BadRequestError: as :func:`replacing`.
    """
    with replace_file(path) as new_file:
        new_file.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a new file that replaces another one at the end of the block, with its mode.

    :raises BadRequestError: when the file cannot be written, or when the file or its folder is marked
        read-only, which a rename, and root, would ignore.
    """
    try:
        target = path.resolve()
        for each in (target, target.parent):
            if each.exists() and not each.stat().st_mode & 0o222:
                raise BadRequestError(f"{each} is read-only.", "Save under another name.")
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        try:
            yield Path(name)
            sync_to_disk(Path(name))  # before the file gets its name
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_read_umask()
            Path(name).chmod(mode)
            Path(name).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise BadRequestError(
            f"{path} cannot be written: {error.strerror or error}.", "Choose another folder."
        ) from None


def sync_to_disk(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk (``fsync``).

    :raises OSError: when the path cannot be opened or written.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
