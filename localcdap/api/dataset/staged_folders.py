"""Copies of dataset folders, in which the admin of a dataset rewrites files before they take effect."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import ConflictError

_SUFFIX: Final = ".staged"
_RUN: Final = ".localcdap-"
"""In the names of the folders that the sinks of runs write until the commit."""
_MOST_ATTEMPTS: Final = 5
"""How often a folder is copied when others replace it meanwhile."""


class StagedFolder(msgspec.Struct, frozen=True):
    """A copy of a folder, which takes its place with a transaction."""

    path: str
    source: str
    """The folder that was copied; it may not exist."""
    fingerprint: str
    """Of the source, before it was copied."""

    def is_current(self) -> bool:
        """Return whether nobody has changed the source since it was copied."""
        return fingerprint_folder(Path(self.source)) == self.fingerprint

    def is_beside_source(self) -> bool:
        """Return whether the copy has a path that :func:`copy_folder` chooses."""
        path, source = Path(self.path), Path(self.source)
        has_name = path.name.startswith(f".{source.name}.") and path.name.endswith(_SUFFIX)
        return has_name and path.parent == source.parent

    def remove(self) -> None:
        """Remove the copy, if it is still there."""
        shutil.rmtree(self.path, ignore_errors=True)


def name_copy(source: Path, id: str) -> Path:
    """Return a path beside a folder that :func:`remove_stray_copies` knows.

    :param id: with a ``-``.
    """
    return source.with_name(f".{source.name}.{id}{_SUFFIX}")


def copy_folder(source: Path, id: str = "") -> StagedFolder:
    """Copy a folder with its files to a path beside it; that of a missing folder is empty.

    :param id: is part of the new name.
    """
    path = name_copy(source, f"{id}-{uuid.uuid4().hex}")
    path.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        fingerprint = fingerprint_folder(source)
        try:
            _copy_to(source, path)
            break
        except OSError:
            # Another update may have replaced the folder meanwhile: then its new files are copied.
            if attempt == _MOST_ATTEMPTS or fingerprint_folder(source) == fingerprint:
                raise
    return StagedFolder(str(path), str(source), fingerprint)


def _copy_to(source: Path, path: Path) -> None:
    """Copy a folder whole, or leave nothing behind."""
    try:
        if source.is_dir():
            shutil.copytree(source, path, symlinks=True)
        else:
            path.mkdir()
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def refuse_writing_runs(folder: Path) -> None:
    """Refuse to replace a folder into which a run writes.

    :raises ConflictError: when there is such a run.
    """
    for place, folders, _ in os.walk(folder):
        for each in folders:
            if _RUN in each and each.startswith("."):
                raise ConflictError(
                    f"A run writes into {Path(place) / each}, so its dataset's files cannot be replaced.",
                    "Try again when the run has ended.",
                )


def fingerprint_folder(folder: Path) -> str:
    """Return a hash of the names, sizes and times of all files and folders; of a missing folder, too."""
    digest = hashlib.sha256()
    for line in sorted(_describe_entries(folder)):
        digest.update(line.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _describe_entries(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        yield from (f"{place}/{each}" for each in folders)
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                found = (Path(place) / file).lstat()
                yield f"{place}/{file} {found.st_size} {found.st_mtime_ns}"


def remove_stray_copies(parent: Path, name: str = "*", id: str = "*") -> None:
    """Remove the copies that a killed process has left in a folder.

    :param name: of the folders that were copied; by default, all.
    :param id: see :func:`copy_folder`.
    """
    for each in parent.glob(f".{name}.{id}-*{_SUFFIX}"):
        shutil.rmtree(each, ignore_errors=True)
