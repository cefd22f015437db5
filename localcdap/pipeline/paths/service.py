"""The service ``paths``: the files that properties of stages name, as a run resolves them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.locations import Locations
from localcdap.api.security import Permission
from localcdap.files.detection import detect_facts, read_head
from localcdap.files.encodings import READ_ERRORS, decode_head
from localcdap.pipeline.environment import EnvironmentFactory
from localcdap.pipeline.macros.parser import has_macro
from localcdap.pipeline.paths.entries import PathEntry, find_first_file, list_folder
from localcdap.pipeline.paths.format_guess import FormatGuess, guess_format
from localcdap.security.access import of_namespace, requires

_MOST_LINES: Final = 40
_MOST_CHARACTERS: Final = 400
"""Characters of a line that are shown."""


class PathQuery(msgspec.Struct, rename="camel"):
    """A path as it stands in a pipeline document."""

    path: str
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Values of macros, which override the preferences."""


class PathListing(msgspec.Struct):
    """The entries of the folder that a path is in."""

    head: str
    """The part of the path up to its last slash; the name of each entry follows it."""
    entries: list[PathEntry]


class FilePeek(msgspec.Struct):
    """The beginning of a file."""

    file: str
    """The absolute path of the file that was read: the first one of a folder or pattern."""
    size: int
    """Bytes of the file."""
    lines: list[str]
    """The first lines, each shortened; empty for a binary file."""
    is_whole: bool
    """Whether these are all lines of the file."""
    guess: FormatGuess


class PathService:
    """Lists folders and looks into files. Threads may share it."""

    def __init__(self, environments: EnvironmentFactory) -> None:
        self._environments = environments

    @requires(of_namespace("query.namespace"), Permission.EXECUTE)
    def list_entries(self, query: PathQuery) -> PathListing:
        """Return the entries of the folder that a path is in. A folder that cannot be read has none.

        Prefixes of ``[locations]`` that go on from the path are among them: for ``gs:/`` and for nothing.

        :raises StageError: for a foreign path without a location.
        :raises BadRequestError: for a macro without a value.
        """
        path, slash, last = query.path.rpartition("/")
        head = path + slash
        locations = self._get_locations(query.namespace)
        prefixes = [
            PathEntry(each.rstrip("/")[len(head) :], True)
            for each in sorted(locations.mapping)
            if each.startswith(head) and len(each.rstrip("/")) > len(head)
        ]
        if prefixes and ":/" in head:
            return PathListing(head, prefixes)
        folder = Path(self._resolve(query, locations, head or "."))
        return PathListing(head, [*prefixes, *list_folder(folder, hidden=last.startswith("."))])

    @requires(of_namespace("query.namespace"), Permission.EXECUTE)
    def peek(self, query: PathQuery) -> FilePeek:
        """Read the beginning of the file that a path names, at most :data:`HEAD_BYTES` of it.

        Of a folder or pattern the first file is read.

        :raises NotFoundError: when there is no such file.
        :raises StageError: for a foreign path without a location.
        :raises BadRequestError: for a macro without a value, and for a file that cannot be read.
        """
        locations = self._get_locations(query.namespace)
        file = find_first_file(self._resolve(query, locations, query.path))
        try:
            size = file.stat().st_size
            head = read_head(file)
        except READ_ERRORS as error:
            raise BadRequestError(
                f"'{file}' cannot be read: {error}.", "Check the file and its permissions."
            ) from error
        facts = detect_facts(head)
        guess, is_whole = guess_format(facts), head.is_whole
        lines: list[str] = []
        if not guess.is_binary:
            text = decode_head(head.content, facts.encoding)
            lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
            lines = lines if text else []
            is_whole = is_whole and len(lines) <= _MOST_LINES
            lines = [line[:_MOST_CHARACTERS] for line in lines[:_MOST_LINES]]
        return FilePeek(str(file), size, lines, is_whole, guess)

    def _get_locations(self, namespace: str) -> Locations:
        locations = self._environments.create(namespace).locations
        if locations is None:
            raise BadRequestError("This instance reads no files.", "Use an instance with a folder.")
        return locations

    def _resolve(self, query: PathQuery, locations: Locations, path: str) -> str:
        """Return where a path is on this machine, with the values of its macros."""
        if has_macro(path):
            environment = self._environments.create(query.namespace)
            macros = environment.create_macros(environment.merge_arguments(None, query.arguments))
            path = macros.get_parser(False).parse(path) or ""
            if has_macro(path):
                raise BadRequestError(
                    f"'{path}' has a macro without a value.",
                    "Give the argument a value: ctrl+r asks for it.",
                )
        return locations.resolve(path)
