"""Folders that a connection shows: everything below a root, and nothing outside of it."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from localcdap.api import BrowseDetail, BrowseEntity, BrowseProperty
from localcdap.api.errors import BadRequestError, NotFoundError

MOST_ENTRIES: Final = 5000
"""Entries of a folder that are listed."""
_MOST_SEARCHED: Final = 50_000
"""Files and folders that a search looks at."""


class RootFolder:
    """A folder with everything below it.

    :param root: an absolute path of this machine.
    :param prefix: begins the paths of its entities, such as ``/bucket``.
    """

    def __init__(self, root: str | Path, prefix: str = "") -> None:
        self._root: Final = Path(os.path.realpath(root))
        self._prefix: Final = prefix.rstrip("/")

    def find(self, path: str) -> Path:
        """Return the file or folder at a path below the root.

        :param path: with or without a slash at its start; ``..`` and links may not lead out of the root.
        :raises NotFoundError: when there is nothing.
        :raises BadRequestError: when the path leads out of the root, or no file can have it.
        """
        if "\0" in path:
            raise BadRequestError("A path has no null character.", "Correct the path.")
        parts = PurePosixPath("/" + path).parts[1:]
        try:
            found = Path(os.path.realpath(self._root.joinpath(*parts)))
        except (OSError, ValueError) as error:
            raise BadRequestError(f"The path '{path}' cannot be followed: {error}.") from None
        if not self._contains(found):
            raise BadRequestError(
                f"The path '{path}' leads out of the folder of the connection.",
                "Name a path below it.",
            )
        try:
            found.stat()
        except OSError as error:
            if isinstance(error, PermissionError):
                raise BadRequestError(f"'{path}' may not be read: {error.strerror}.") from None
            raise NotFoundError(f"There is nothing at '{path}'.", "Browse for its name.") from None
        return found

    def find_file(self, path: str) -> Path:
        """Return the regular file at a path; only such a file is sure to end.

        :raises NotFoundError: when there is nothing.
        :raises BadRequestError: when it is a folder, a pipe or a device, or leads out of the root.
        """
        found = self.find(path)
        if not stat.S_ISREG(found.stat().st_mode):
            what = "a folder" if found.is_dir() else "no regular file"
            raise BadRequestError(f"'{path}' is {what}.", "Name one file.")
        return found

    def browse(self, path: str, search: str | None = None) -> BrowseDetail:
        """Return the entries of a folder, folders first, or the file that is at the path.

        :param search: lists what is below the folder at any depth and has this text in its name.
        :raises NotFoundError: when there is nothing.
        :raises BadRequestError: when the path leads out of the root, or the folder may not be read.
        """
        found = self.find(path)
        shown = "/" + "/".join(PurePosixPath("/" + path).parts[1:])
        if not found.is_dir():
            return BrowseDetail([self._describe(found, found.name, shown)], 1)
        try:
            names = list(_search(found, search) if search else _list(found))
        except OSError as error:
            raise BadRequestError(f"'{path}' may not be read: {error.strerror}.") from None
        entities = [
            self._describe(found / name, name, f"{shown.rstrip('/')}/{name}") for name in names
        ]
        entities.sort(key=lambda each: (not each.can_browse, each.name.lower()))
        return BrowseDetail(entities[:MOST_ENTRIES], len(entities))

    def _contains(self, place: Path) -> bool:
        """Return whether a place, without links in its path, is the root or below it."""
        return place == self._root or self._root in place.parents

    def _describe(self, file: Path, name: str, path: str) -> BrowseEntity:
        try:
            status = file.stat()
        except OSError:  # a link that leads nowhere, or what may not be read
            return BrowseEntity(name, self._prefix + path, "file")
        if file.is_symlink() and not self._contains(Path(os.path.realpath(file))):
            return BrowseEntity(name, self._prefix + path, "link")
        changed = BrowseProperty(str(int(status.st_mtime * 1000)), "TIMESTAMP_MILLIS")
        if stat.S_ISDIR(status.st_mode):
            properties = {"Last Modified": changed}
            return BrowseEntity(
                name, self._prefix + path, "directory", can_browse=True, properties=properties
            )
        size = BrowseProperty(str(status.st_size), "SIZE_BYTES")
        is_regular = stat.S_ISREG(status.st_mode)
        return BrowseEntity(
            name,
            self._prefix + path,
            "file",
            can_sample=is_regular,
            properties={"Size": size, "Last Modified": changed},
        )


def _list(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        yield from (each.name for each in entries if not each.name.startswith("."))


def _search(folder: Path, text: str) -> Iterator[str]:
    """Yield the paths, relative to the folder, of what has a text in its name, but for hidden folders."""
    wanted = text.lower()
    looked = itertools.count()
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in (*folders, *sorted(files)):
            if next(looked) > _MOST_SEARCHED:
                return
            if wanted in name.lower() and not name.startswith("."):
                yield str(Path(place, name).relative_to(folder))
