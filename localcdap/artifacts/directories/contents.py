"""The files of an artifact: which belong to it, their fingerprint, their digest.

Nothing here trusts what lies in a folder: pipes are not opened, linked folders not followed, and an
artifact that is far too large is refused before it is read.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from localcdap.api.errors import BadRequestError

MOST_FILES: Final = 20_000
"""Files of the largest artifact."""
MOST_BYTES: Final = 1024 * 1024 * 1024
"""Bytes of the largest artifact."""
_DEEPEST: Final = 50
"""Folders inside each other."""
_LEFT_BEHIND: Final = frozenset(("__pycache__", "node_modules"))
_NOT_PACKAGED: Final = frozenset(("build", "dist", "tests"))
"""Folders of a project, at its top level, that are no part of the artifact."""
_TEMPORARY: Final = (".pyc", ".egg-info", "~", ".swp", ".swx", ".tmp", ".part", ".crdownload")
_SETTLED_AFTER_NS: Final = 2_000_000_000
"""The coarsest clock of a usual file system: a younger file may change without a trace."""
_CHUNK: Final = 1024 * 1024


class ContentFile(NamedTuple):
    """A file of an artifact."""

    inner: str
    """Its name inside the artifact, with ``/``."""
    path: Path
    bytes: int
    changed_ns: int


def is_content(name: str) -> bool:
    """Return whether a file or folder of that name counts: hidden ones, and what editors, downloads and
    builds
    leave behind, do not.
    """
    return not (name.startswith((".", "#")) or name in _LEFT_BEHIND or name.endswith(_TEMPORARY))


def list_files(path: Path) -> list[ContentFile]:
    """Return the files of an artifact in a fixed order.

    Links to files are followed, links to folders inside it are not.

    :raises BadRequestError: when it is neither file nor folder, or larger than an artifact may be.
    :raises OSError: when it cannot be read.
    """
    status = path.stat()
    if stat.S_ISREG(status.st_mode):
        files = [ContentFile(path.name, path, status.st_size, status.st_mtime_ns)]
    elif stat.S_ISDIR(status.st_mode):
        files = _files_below(path)
    else:
        raise BadRequestError(f"{path.name} is neither a file nor a folder.", "Remove it.")
    if sum(file.bytes for file in files) > MOST_BYTES:
        raise BadRequestError(f"{path.name} is larger than {MOST_BYTES >> 20} MiB.")
    return files


def compute_fingerprint(path: Path, beside: Path | None = None) -> str:
    """Changes with the names, sizes and times of the content; nothing is read.

    :param beside: a file that belongs to it, too, if it exists.
    :raises BadRequestError: as :func:`content` does.
    :raises OSError: likewise.
    """
    return _fingerprint(_with(list_files(path), beside))


def compute_signature(path: Path, beside: Path | None = None) -> str:
    """Return the fingerprint; empty, and so equal to no stored one, while a file is so young that it may
    change
    unnoticed.
    """
    files = _with(list_files(path), beside)
    newest = max((file.changed_ns for file in files), default=0)
    return "" if newest > time.time_ns() - _SETTLED_AFTER_NS else _fingerprint(files)


def compute_digest(path: Path) -> str:
    """SHA-256 of the content, names included."""
    state = hashlib.sha256()
    for file in list_files(path):
        state.update(os.fsencode(file.inner) + b"\0%d\0" % file.bytes)
        with file.path.open("rb") as stream:
            while data := stream.read(_CHUNK):
                state.update(data)
    return state.hexdigest()


def to_printable(path: Path | str) -> str:
    """Return the path as a text that can be stored and printed on one line, whatever its bytes are."""
    text = str(path)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _fingerprint(files: list[ContentFile]) -> str:
    state = hashlib.sha256()
    for file in files:
        state.update(os.fsencode(file.inner) + b"\0%d\0%d\0" % (file.bytes, file.changed_ns))
    return state.hexdigest()


def _with(files: list[ContentFile], beside: Path | None) -> list[ContentFile]:
    try:
        status = beside.stat() if beside is not None else None
    except OSError:
        status = None
    if beside is None or status is None:
        return files
    return [*files, ContentFile(f"../{beside.name}", beside, status.st_size, status.st_mtime_ns)]


def _files_below(top: Path) -> list[ContentFile]:
    files: list[ContentFile] = []
    pending = [(top, "", 0)]
    while pending:
        folder, prefix, depth = pending.pop()
        if depth > _DEEPEST:
            raise BadRequestError(f"{top.name} has more than {_DEEPEST} folders inside each other.")
        for entry in _entries(folder):
            if not is_content(entry.name) or (depth == 0 and entry.name in _NOT_PACKAGED):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append((Path(entry.path), f"{prefix}{entry.name}/", depth + 1))
            elif _is_file(entry):
                status = entry.stat()
                inner = prefix + entry.name
                files.append(
                    ContentFile(inner, Path(entry.path), status.st_size, status.st_mtime_ns)
                )
        if len(files) + len(pending) > MOST_FILES:
            raise BadRequestError(f"{top.name} has more than {MOST_FILES} files.")
    return sorted(files)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from entries


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False
