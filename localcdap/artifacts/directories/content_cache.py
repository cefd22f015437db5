"""The cache of artifact contents by digest: code is loaded from copies, which never change."""

from __future__ import annotations

import shutil
import tempfile
import time
import zipfile
from collections.abc import Container, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.directories.contents import (
    MOST_BYTES,
    MOST_FILES,
    compute_digest,
    list_files,
    to_printable,
)

_KEPT_S: Final = 7 * 24 * 3600
"""Seconds that an unused copy is kept, for runs that were started with it."""
_MOST_RATIO: Final = 100
"""The largest ratio of a wheel's unpacked size to its own size; for code and data it is about 10."""
_UNSUSPICIOUS: Final = 64 * 1024 * 1024
"""The unpacked size up to which the ratio is not checked, in bytes."""


class ContentCache:
    """A folder with one sub-folder for each digest. Several processes may share it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def find(self, digest: str) -> Path | None:
        """Return the copy of a content: a ``.py`` file or a folder (also for a wheel); None if missing."""
        folder = self._directory / digest
        if not digest or not folder.is_dir():
            return None
        return next((entry for entry in folder.iterdir() if entry.name != "__pycache__"), None)

    def take(self, original: Path) -> str:
        """Copy an artifact, and return the digest of the copy.

        :raises BadRequestError: when it is a wheel that cannot be unpacked.
        :raises OSError: when it cannot be read.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self._directory) as name:
            copy = Path(name, "content", original.name)
            copy.parent.mkdir()
            _copy(original, copy)
            found = compute_digest(copy)
            if copy.suffix == ".whl":
                _unpack(copy)
            self._keep(copy.parent, self._directory / found)
        return found

    def prune(self, in_use: Container[str]) -> None:
        """Remove the copies that were not used for a week."""
        if not self._directory.is_dir():
            return
        for folder in self._directory.iterdir():
            if folder.name in in_use:
                folder.touch()
            elif folder.stat().st_mtime < time.time() - _KEPT_S:
                shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    def _keep(new: Path, place: Path) -> None:
        try:
            new.rename(place)
        except OSError:
            if not place.is_dir():
                raise


def _copy(original: Path, copy: Path) -> None:
    if original.is_dir():
        copy.mkdir()
    for file in list_files(original):
        target = copy / file.inner if original.is_dir() else copy
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.path, target)


def _unpack(file: Path) -> None:
    """Replace a wheel by a folder with its content."""
    folder = file.with_suffix("")
    try:
        with zipfile.ZipFile(file) as wheel:
            _check_members(file, wheel.infolist())
            wheel.extractall(folder)
        _spread_data(folder)
    except BadRequestError:
        raise
    except Exception as error:  # zipfile raises many types for a broken file
        raise BadRequestError(
            f"{file.name}: cannot be unpacked: {to_printable(str(error)) or type(error).__name__}."
        ) from None
    file.unlink()


def _check_members(file: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    """Check a wheel before unpacking it.

    :raises BadRequestError: when it would write outside its folder, or is suspiciously large.
    """
    if len(members) > MOST_FILES:
        raise BadRequestError(f"{file.name}: more than {MOST_FILES} files inside.")
    unpacked = sum(member.file_size for member in members)
    if unpacked > MOST_BYTES:
        raise BadRequestError(f"{file.name}: more than {MOST_BYTES >> 20} MiB unpacked.")
    if unpacked > max(_UNSUSPICIOUS, _MOST_RATIO * file.stat().st_size):
        raise BadRequestError(
            f"{file.name}: {unpacked >> 20} MiB unpacked, more than {_MOST_RATIO} times its size."
        )
    for member in members:
        parts = PurePosixPath(member.filename.replace("\\", "/")).parts
        if parts[:1] == ("/",) or ".." in parts:
            raise BadRequestError(
                f"{file.name}: unsafe path '{to_printable(member.filename)}' inside."
            )


def _spread_data(folder: Path) -> None:
    """Move the modules in a wheel's ``.data`` folder to the top level, as an installer does."""
    for data in folder.glob("*.data"):
        for name in ("purelib", "platlib"):
            if (data / name).is_dir():
                shutil.copytree(data / name, folder, dirs_exist_ok=True)
