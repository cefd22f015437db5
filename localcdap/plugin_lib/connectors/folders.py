"""Folders that a connection shows, with nothing outside of their root, and buckets that are such folders."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseProperty,
    ConnectorContext,
    ConnectorSpec,
    RecordStream,
    RelatedPlugin,
)
from localcdap.api.connector import format_connection_macro
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.plugin_lib.connectors.file_records import (
    build_source_properties,
    leaves_out_lines,
    make_reference_name,
    read_file,
)
from localcdap.text import format_available

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


class Buckets:
    """The buckets of some schemes. Paths are ``/bucket/folder/file``.

    :param schemes: such as ``gs``; the first one is that of the paths in pipelines.
    """

    def __init__(self, context: ConnectorContext, *schemes: str) -> None:
        self._context = context
        self._scheme: Final = schemes[0]
        self._places: dict[str, str] = {}
        """The foreign path of each known place, by its path here."""
        for written in context.locations.mapping:
            scheme, found, rest = written.partition("://")
            if found and scheme.lower() in schemes and rest.strip("/"):
                self._places[rest.strip("/")] = written

    def check(self) -> None:
        """Add a failure when there is no bucket."""
        if not self._places:
            self._context.failures.add(
                f"No folder of this machine stands for a bucket of {self._scheme}://.",
                f'Say where they are under [locations] in localcdap.toml: "{self._scheme}://bucket" = '
                '"data/bucket"',
            )

    def browse(self, path: str, search: str | None = None) -> BrowseDetail:
        """Return the buckets, or what is in one.

        :raises NotFoundError: when there is no such bucket or path.
        """
        inner = _normalize(path)
        place = self._find_place(inner)
        if place is not None:
            return self._open(place).browse(inner[len(place) :], search)
        depth = len(PurePosixPath(inner).parts) if inner else 0
        names = {
            PurePosixPath(each).parts[depth]
            for each in self._places
            if not inner or each.startswith(f"{inner}/")
        }
        if not names:
            raise self._make_missing(path)
        kind = "directory" if depth else "bucket"
        found = [
            BrowseEntity(name, f"/{inner}/{name}".replace("//", "/"), kind, can_browse=True)
            for name in sorted(names)
        ]
        return BrowseDetail(found, len(found))

    def read(self, path: str, properties: Mapping[str, str]) -> RecordStream:
        """Return the records of an object.

        :param properties: as for :func:`~localcdap.plugin_lib.connectors.file_records.read_file`.
        :raises NotFoundError: when there is none at the path.
        """
        inner = _normalize(path)
        place = self._find_place(inner)
        if place is None:
            raise self._make_missing(path)
        file = self._open(place).find_file(inner[len(place) :])
        return read_file(str(file), properties)

    def specify(self, plugin: str, path: str, how: Mapping[str, str]) -> ConnectorSpec:
        """Return the source of a path.

        :param plugin: the name of the source.
        :param how: as the properties for :meth:`read`.
        """
        if leaves_out_lines(how):
            return ConnectorSpec([])
        written = f"{self._scheme}://{_normalize(path)}"
        properties = build_source_properties(written, how)
        if self._context.connection:
            macro = format_connection_macro(self._context.connection)
            properties |= {"useConnection": "true", "connection": macro}
        properties["referenceName"] = make_reference_name(written)
        return ConnectorSpec([RelatedPlugin(plugin, "batchsource", properties)])

    def _find_place(self, inner: str) -> str | None:
        fitting = (each for each in self._places if inner == each or inner.startswith(f"{each}/"))
        return max(fitting, key=len, default=None)

    def _open(self, place: str) -> RootFolder:
        return RootFolder(self._context.resolve_path(self._places[place]), f"/{place}")

    def _make_missing(self, path: str) -> NotFoundError:
        buckets = sorted({each.partition("/")[0] for each in self._places})
        name = _normalize(path).partition("/")[0]
        return NotFoundError(
            f"No folder of this machine stands for '{self._scheme}://{_normalize(path)}'; buckets: "
            f"{format_available(name, buckets)}.",
            f'Say where it is under [locations] in localcdap.toml: "{self._scheme}://{name}" = '
            f'"data/{name}"',
        )


def _normalize(path: str) -> str:
    parts = PurePosixPath("/" + path).parts[1:]
    if ".." in parts:
        raise BadRequestError(f"The path '{path}' has '..'.", "Name the object without it.")
    return "/".join(parts)
