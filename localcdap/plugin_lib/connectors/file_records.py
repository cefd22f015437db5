"""Files that a connection shows: folders, buckets, the records of a file, and the source that reads it."""

from __future__ import annotations

import itertools
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseProperty,
    ConnectorContext,
    ConnectorSpec,
    PluginConfig,
    Record,
    RecordStream,
    RelatedPlugin,
    Schema,
    StageError,
    Unreadable,
    field,
)
from localcdap.api.connector import format_connection_macro
from localcdap.api.directive.rows import Columns
from localcdap.api.errors import BadRequestError, NotFoundError, SchemaError
from localcdap.api.record_json import decode_json_records, decode_text_record
from localcdap.files import formats
from localcdap.files.delimited import UnreadableRow, find_delimiter
from localcdap.files.encodings import get_java_name
from localcdap.files.formats import DELIMITED, EXCEL, TEXT, FileFormat, FileInput, detect_format
from localcdap.files.rows import Item, RowReader
from localcdap.files.types import detect_column_type
from localcdap.plugin_lib.wrangler.recipe.samples import SchemaInference
from localcdap.text import format_available

DETECT: Final = "detect"
"""The value of the property ``types`` that has the types of text columns detected."""
_LOOKED_AT: Final = 1000
"""Rows at the beginning of a file whose values say the types."""


def read_file(path: str, properties: Mapping[str, str]) -> RecordStream:
    """Return the records of a file.

    :param properties: how to read it: ``format``, ``skipLines``, ``delimiter``, ``header``, ``encoding``,
        ``sheet``, ``types`` and ``schema``; also by the names of CDAP's file sources. What is missing is
        detected.
    :raises BadRequestError: when a property is wrong, or the file cannot be read.
    """
    given = _read_input(path, properties)
    format = detect_format(given)
    try:
        reader = RowReader(given, format)
    except StageError as error:
        raise BadRequestError(error.message, error.corrective_action) from None
    found = {"format": format.format, "encoding": get_java_name(format.encoding)}
    format = reader.format
    if format.skip_lines:
        found["skipLines"] = str(format.skip_lines)
    if format.format in DELIMITED:
        found["delimiter"] = format.delimiter
    if format.format in (*DELIMITED, EXCEL):
        found["header"] = str(format.header).lower()
    if format.is_multiline:
        found["enableMultilineSupport"] = "true"
    items: Iterable[Item] = reader
    schema = reader.schema
    wanted = _find_types(properties, format)
    if wanted is not None:
        first = list(itertools.islice(reader, _LOOKED_AT))
        schema = _detect_types(first, schema) if wanted == DETECT else _parse_schema(wanted)
        items = itertools.chain(first, reader)
        found["schema"] = str(schema)
    converts = schema if wanted is not None else None
    return RecordStream(
        _read_items(items, converts),
        schema,
        properties=found,
        share=lambda: reader.share,
        find_schema=infer_schema,
    )


def build_source_properties(path: str, how: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with which a file source of CDAP reads a file.

    :param how: as for :func:`read_file`; what was detected is best among them.
    """
    format = how.get("format") or TEXT
    delimiter = how.get("delimiter") or find_delimiter(format, None)
    properties = {"path": path} | formats.build_source_properties(
        FileFormat(
            formats.FORMATS_OF_SOURCES.get(format, format),
            delimiter,
            header=(_find(how, "header", "skipHeader") or "").lower() == "true",
            encoding=_find(how, "encoding", "fileEncoding") or "UTF-8",
            is_multiline=how.get("enableMultilineSupport") == "true",
        )
    )
    if how.get("sheet"):
        properties |= {"sheet": "Sheet Name", "sheetValue": how["sheet"]}
    if how.get("schema"):
        properties["schema"] = how["schema"]
    return properties


def make_reference_name(path: str) -> str:
    """Return a reference name for the stage that reads a path: letters, digits, ``_``, ``-`` and ``.``."""
    name = path.rstrip("/").rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name) or "source"


def _read_input(path: str, properties: Mapping[str, str]) -> FileInput:
    format = properties.get("format") or None
    header = _find(properties, "header", "skipHeader", "copyHeader")
    if header is not None and header.lower() not in ("true", "false"):
        raise BadRequestError(f"Property 'header' must be true or false, not '{header}'.")
    skipped = properties.get("skipLines") or None
    if skipped is not None and not (skipped.isascii() and skipped.isdigit()):
        raise BadRequestError(f"Property 'skipLines' must be a whole number, not '{skipped}'.")
    return FileInput(
        path,
        formats.FORMATS_OF_SOURCES.get(format, format) if format else None,
        properties.get("delimiter") or None,
        header.lower() == "true" if header is not None else None,
        _find(properties, "encoding", "fileEncoding"),
        properties.get("sheet") or None,
        int(skipped) if skipped is not None else None,
    )


def leaves_out_lines(how: Mapping[str, str]) -> bool:
    """Return whether the first lines of a file are left out, which no source does."""
    return (how.get("skipLines") or "0") != "0"


def _find(properties: Mapping[str, str], *names: str) -> str | None:
    return next((properties[name] for name in names if properties.get(name)), None)


def _find_types(properties: Mapping[str, str], format: FileFormat) -> str | None:
    """Return how columns of texts get types: a schema as JSON, :data:`DETECT`, or None for not at all."""
    if format.format not in DELIMITED:
        return None
    return properties.get("schema") or (DETECT if properties.get("types") == DETECT else None)


def _parse_schema(text: str) -> Schema:
    try:
        return Schema.parse(text)
    except SchemaError as error:
        raise BadRequestError(
            f"Property 'schema': {error.message}", error.corrective_action
        ) from None


def _detect_types(items: Sequence[Item], schema: Schema | None) -> Schema:
    """Return the schema with the narrowest types that the values allow; each value may be missing."""
    rows = [each for each in items if not isinstance(each, UnreadableRow)]
    names = schema.field_names if schema is not None else []
    fields = [
        (name, detect_column_type([row[name] or "" for row in rows]).as_nullable) for name in names
    ]
    return Schema.record("row", fields)


def _read_items(items: Iterable[Item], schema: Schema | None) -> Iterator[Record | Unreadable]:
    try:
        for number, each in enumerate(items, 1):
            if isinstance(each, UnreadableRow):
                yield Unreadable(each.message)
            else:
                yield each if schema is None else _convert(each, schema, number)
    except StageError as error:
        raise BadRequestError(error.message, error.corrective_action) from None


def _convert(row: Record, schema: Schema, number: int) -> Record | Unreadable:
    texts = {name: "" if value is None else str(value) for name, value in row.items()}
    known = {name: text for name, text in texts.items() if schema.field(name) is not None}
    try:
        return decode_json_records(schema, [decode_text_record(schema, known)])[0]
    except BadRequestError as error:
        return Unreadable(f"Row {number}: {error.message}")


def infer_schema(records: Sequence[Record]) -> Schema | None:
    """Return the schema that the values of records propose; None without columns."""
    inference = SchemaInference(Columns(open=True))
    inference.add(records)
    return inference.find_schema()


_GROUP = "reading of files"
_NAMES = {
    "skipHeader": ("header", "skipHeader", "copyHeader"),
    "fileEncoding": ("encoding", "fileEncoding"),
}
"""By property, its names in requests."""


class SamplingConfig(PluginConfig, macros=True, rename="camel"):
    """How files are read where a request does not say it; what is not set either is detected.

    Properties as CDAP's (the widgets of its connectors File, GCS and S3).
    """

    format: str | None = field(
        "Format of the files, as in file sources; by default, it is detected.",
        default=None,
        group=_GROUP,
    )
    delimiter: str | None = field(
        "Text between two values of a line in the format 'delimited'.", default=None, group=_GROUP
    )
    skip_header: bool | None = field(
        "Whether the first line of a file has the names of its columns; by default, it is detected.",
        default=None,
        group=_GROUP,
    )
    file_encoding: str | None = field(
        "Character encoding of the files; by default, it is detected.", default=None, group=_GROUP
    )

    def add_defaults(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the properties of a request with those that only the connection has."""
        skips = None if self.skip_header is None else str(self.skip_header).lower()
        defaults = {
            "format": self.format,
            "delimiter": self.delimiter,
            "skipHeader": skips,
            "fileEncoding": self.file_encoding,
        }
        missing = {
            name: value
            for name, value in defaults.items()
            if value and not any(properties.get(other) for other in _NAMES.get(name, (name,)))
        }
        return dict(properties) | missing


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
