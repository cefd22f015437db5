"""Files put in place whole, or not at all, and never over one that is marked read-only."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from localcdap.api.errors import BadRequestError


def write_file(path: Path, text: str) -> None:
    """Put a text in place of a file.

    :raises BadRequestError: as :func:`replacing`.
    """
    with replace_file(path) as place:
        place.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """A new file for the time of a block, which then takes the place of another one and its mode.

    :raises BadRequestError: when it cannot be written, or the other file or its folder are marked read-only,
        which putting a file in its place, and root, would pass over.
    """
    try:
        target = path.resolve()
        for place in (target, target.parent):
            if place.exists() and not place.stat().st_mode & 0o222:
                raise BadRequestError(f"{place} is read-only.", "Save under another name.")
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        try:
            yield Path(name)
            _settle(Path(name))
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
            Path(name).chmod(mode)
            Path(name).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise BadRequestError(
            f"{path} cannot be written: {error.strerror or error}.", "Choose another place."
        ) from None


def _settle(file: Path) -> None:
    """Have the content on the disk before the file gets its name."""
    handle = os.open(file, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
