"""Buckets of foreign stores for which folders of this machine stand, by ``[locations]`` of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
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
from localcdap.plugin_lib.connectors.folders import RootFolder
from localcdap.text import format_available


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
