"""The files of an artifact, their fingerprint and their digest.

The contents of a folder are not trusted: pipes are not opened, linked folders are not followed, and an
artifact that is too large is rejected before it is read.
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
"""The most files of an artifact."""
MOST_BYTES: Final = 1024 * 1024 * 1024
"""The largest artifact, in bytes."""
_DEEPEST: Final = 50
"""The most levels of folders."""
_LEFT_BEHIND: Final = frozenset(("__pycache__", "node_modules"))
_NOT_PACKAGED: Final = frozenset(("build", "dist", "tests"))
"""Folders at the top level of a project that do not belong to the artifact."""
_TEMPORARY: Final = (".pyc", ".egg-info", "~", ".swp", ".swx", ".tmp", ".part", ".crdownload")
_SETTLED_AFTER_NS: Final = 2_000_000_000
"""The coarsest time stamps of common file systems are 2 s: a younger file may change unnoticed."""
_CHUNK: Final = 1024 * 1024


class ContentFile(NamedTuple):
    """A file of an artifact."""

    inner: str
    """The path inside the artifact, with ``/``."""
    path: str
    """A text, because hosts list more than a thousand files when they start, and read none of them."""
    bytes: int
    changed_ns: int


def is_content(name: str) -> bool:
    """Return whether a file or folder of that name belongs to an artifact.

    Hidden files and temporary files of editors, downloads and builds do not.
    """
    return not (name.startswith((".", "#")) or name in _LEFT_BEHIND or name.endswith(_TEMPORARY))


def list_files(path: Path) -> list[ContentFile]:
    """Return the files of an artifact in a fixed order.

    Links to files are followed, links to folders inside the artifact are not.

    :raises BadRequestError: when the path is neither a file nor a folder, or the artifact is too large.
    :raises OSError: when it cannot be read.
    """
    status = path.stat()
    if stat.S_ISREG(status.st_mode):
        files = [ContentFile(path.name, str(path), status.st_size, status.st_mtime_ns)]
    elif stat.S_ISDIR(status.st_mode):
        files = _list_below(path)
    else:
        raise BadRequestError(f"{path.name} is neither a file nor a folder.", "Remove it.")
    if sum(file.bytes for file in files) > MOST_BYTES:
        raise BadRequestError(f"{path.name} is larger than {MOST_BYTES >> 20} MiB.")
    return files


def compute_fingerprint(path: Path, sidecar: Path | None = None) -> str:
    """Compute a hash of the names, sizes and times of the files, without reading them.

    :param sidecar: the sidecar file, which is included if it exists.
    :raises BadRequestError: as :func:`list_files`.
    :raises OSError: as :func:`list_files`.
    """
    return _hash_files(_add_sidecar(list_files(path), sidecar))


def compute_signature(path: Path, sidecar: Path | None = None) -> str:
    """Compute the fingerprint for the index; empty while a file is so young that it may change unnoticed.

    An empty signature never equals a stored one, so the artifact is read again.
    """
    files = _add_sidecar(list_files(path), sidecar)
    newest = max((file.changed_ns for file in files), default=0)
    return "" if newest > time.time_ns() - _SETTLED_AFTER_NS else _hash_files(files)


def compute_digest(path: Path) -> str:
    """Compute the SHA-256 digest of the content, including file names."""
    state = hashlib.sha256()
    for file in list_files(path):
        state.update(os.fsencode(file.inner) + b"\0%d\0" % file.bytes)
        with Path(file.path).open("rb") as stream:
            while data := stream.read(_CHUNK):
                state.update(data)
    return state.hexdigest()


def to_printable(path: Path | str) -> str:
    """Return a path as a text that can be stored and printed on one line, with any bytes escaped."""
    text = str(path)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _hash_files(files: list[ContentFile]) -> str:
    state = hashlib.sha256()
    for file in files:
        state.update(os.fsencode(file.inner) + b"\0%d\0%d\0" % (file.bytes, file.changed_ns))
    return state.hexdigest()


def _add_sidecar(files: list[ContentFile], sidecar: Path | None) -> list[ContentFile]:
    try:
        status = sidecar.stat() if sidecar is not None else None
    except OSError:
        status = None
    if sidecar is None or status is None:
        return files
    return [
        *files,
        ContentFile(f"../{sidecar.name}", str(sidecar), status.st_size, status.st_mtime_ns),
    ]


def _list_below(top: Path) -> list[ContentFile]:
    files: list[ContentFile] = []
    pending = [(str(top), "", 0)]
    while pending:
        folder, prefix, depth = pending.pop()
        if depth > _DEEPEST:
            raise BadRequestError(f"{top.name} has more than {_DEEPEST} folders inside each other.")
        for entry in _scan(folder):
            if not is_content(entry.name) or (depth == 0 and entry.name in _NOT_PACKAGED):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, f"{prefix}{entry.name}/", depth + 1))
            elif _is_file(entry):
                status = entry.stat()
                inner = prefix + entry.name
                files.append(ContentFile(inner, entry.path, status.st_size, status.st_mtime_ns))
        if len(files) + len(pending) > MOST_FILES:
            raise BadRequestError(f"{top.name} has more than {MOST_FILES} files.")
    return sorted(files)


def _scan(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from entries


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False
