"""The entries of a folder, and the file that stands for a path."""

from __future__ import annotations

import itertools
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError

MAX_ENTRIES: Final = 5000
"""Entries of a folder that are looked at; the rest of a larger folder is left out."""
_WILDCARD: Final = re.compile(r"[*?\[]")
_HIDDEN: Final = ("_", ".")
"""First characters of names that sources skip (Hadoop ``FileInputFormat``)."""


class PathEntry(msgspec.Struct, frozen=True):
    """A file or a folder in a folder."""

    name: str
    is_folder: bool


def list_folder(folder: Path, *, hidden: bool = False) -> list[PathEntry]:
    """Return the entries of a folder, folders first; empty for one that cannot be read.

    :param hidden: whether names that begin with a dot are among them.
    """
    try:
        with os.scandir(folder) as scanned:
            found = [
                PathEntry(each.name, each.is_dir())
                for each in itertools.islice(scanned, MAX_ENTRIES)
                if hidden or not each.name.startswith(".")
            ]
    except (OSError, ValueError):  # ValueError: a name with a null character
        return []
    return sorted(found, key=lambda entry: (not entry.is_folder, entry.name.lower()))


def find_first_file(path: str) -> Path:
    """Return the first file that a source reads from a path: a file, a folder or a pattern.

    Only regular files count, because a pipe or a device would keep its reader waiting.

    :param path: an absolute path of this machine.
    :raises NotFoundError: when there is no such file.
    :raises BadRequestError: for a pattern with alternatives, and for what is not a regular file.
    """
    if os.path.lexists(path):
        return _find_in(Path(path), path)
    if "{" in path:
        raise BadRequestError(
            f"'{path}' is a pattern with alternatives, which is not searched here.",
            "Choose one of its files.",
        )
    is_pattern = _WILDCARD.search(path) is not None
    matching = sorted(_match(path)) if is_pattern else []
    if not matching:
        reason = "matches no file" if is_pattern else "does not exist"
        raise NotFoundError(f"'{path}' {reason}.", "Check the path.")
    return _find_in(matching[0], path)


def _match(pattern: str) -> Iterable[Path]:
    root = Path("/")
    try:
        return list(itertools.islice(root.glob(pattern.strip("/")), MAX_ENTRIES))
    except (OSError, ValueError):
        return []


def _find_in(found: Path, path: str) -> Path:
    if found.is_dir():
        files = (found / entry.name for entry in list_folder(found) if not entry.is_folder)
        return _require_file(files, path)
    if not _is_regular(found):
        raise BadRequestError(f"'{found}' is not a regular file.", "Choose a file or a folder.")
    return found


def _require_file(files: Iterable[Path], path: str) -> Path:
    for file in sorted(files):
        if not file.name.startswith(_HIDDEN) and _is_regular(file):
            return file
    raise NotFoundError(f"'{path}' has no file to look into.", "Choose another folder, or a file.")


def _is_regular(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except OSError:
        return False
