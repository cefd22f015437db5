"""Copies of artifact contents by digest: what is loaded, whatever happens to the original meanwhile."""

from __future__ import annotations

import shutil
import tempfile
import time
import zipfile
from collections.abc import Container
from pathlib import Path, PurePosixPath
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.places import content, digest

_KEPT_S: Final = 7 * 24 * 3600
"""Seconds that a copy nobody refers to is kept, for runs that were started with it."""
_WHEEL_LIMIT: Final = 1024 * 1024 * 1024
"""Bytes of the largest wheel content."""


class Copies:
    """A folder with one sub-folder for each digest. Several processes may share it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def find(self, digest: str) -> Path | None:
        """The copy of that content: a ``.py`` file or a folder (also of a wheel)."""
        folder = self._directory / digest
        if not digest or not folder.is_dir():
            return None
        return next((entry for entry in folder.iterdir() if entry.name != "__pycache__"), None)

    def take(self, original: Path) -> str:
        """Copy an artifact and return the digest of what was copied.

        :raises BadRequestError: when it is a wheel that cannot be unpacked.
        :raises OSError: when it cannot be read.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self._directory) as name:
            copy = Path(name, "content", original.name)
            copy.parent.mkdir()
            _copy(original, copy)
            found = digest(copy)
            if copy.suffix == ".whl":
                _unpack(copy)
            self._keep(copy.parent, self._directory / found)
        return found

    def prune(self, in_use: Container[str]) -> None:
        """Remove the copies that nobody has referred to for a week."""
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
    if original.is_file():
        shutil.copy2(original, copy)
        return
    copy.mkdir()
    for inner, file in content(original):
        target = copy / inner
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)


def _unpack(file: Path) -> None:
    """Put a folder with the content of a wheel in the place of its file."""
    folder = file.with_suffix("")
    try:
        with zipfile.ZipFile(file) as wheel:
            if sum(member.file_size for member in wheel.infolist()) > _WHEEL_LIMIT:
                raise BadRequestError(f"{file.name}: more than 1 GiB unpacked.")
            for member in wheel.namelist():
                parts = PurePosixPath(member).parts
                if member.startswith("/") or ".." in parts:
                    raise BadRequestError(f"{file.name}: unsafe path '{member}' inside.")
            wheel.extractall(folder)
    except (zipfile.BadZipFile, OSError) as error:
        raise BadRequestError(f"{file.name}: cannot be unpacked: {error}.") from None
    file.unlink()
