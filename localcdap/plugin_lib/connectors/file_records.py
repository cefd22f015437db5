"""The records of a file as a connection shows them, and the properties of the source that reads it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from localcdap.api import PluginConfig, Record, RecordStream, Schema, StageError, Unreadable, field
from localcdap.api.directive.rows import Columns
from localcdap.api.errors import BadRequestError, SchemaError
from localcdap.api.record_json import decode_json_records, decode_text_record
from localcdap.files import formats
from localcdap.files.delimited import UnreadableRow, find_delimiter
from localcdap.files.encodings import get_java_name
from localcdap.files.formats import DELIMITED, EXCEL, TEXT, FileFormat, FileInput, detect_format
from localcdap.files.rows import Item, RowReader
from localcdap.files.types import detect_column_type
from localcdap.plugin_lib.wrangler.recipe.samples import SchemaInference

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
