"""How a file is read: as asked for, or as its name and contents suggest.

All are computed from one description of the files. Spark and DuckDB read large files, because they leave
out columns and partitions that a query does not need. DuckDB reads files through Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, describe_reason
from localcdap.files import detection
from localcdap.files.delimited import get_format_of_delimiter
from localcdap.files.detection import DetectionOptions, FileFacts, FileHead, detect_facts, read_head
from localcdap.files.encodings import READ_ERRORS, get_java_name
from localcdap.java.charsets import find_encoding
from localcdap.text import plural

if TYPE_CHECKING:
    import pyarrow as pa


CSV: Final = "csv"
TSV: Final = "tsv"
JSON: Final = "json"
EXCEL: Final = detection.WORKBOOK
TEXT: Final = detection.TEXT
DOCUMENT: Final = "document"
"""A text that is one record."""
BLOB: Final = detection.BINARY
"""Bytes that are one record."""
INPUT_FORMATS: Final = (CSV, TSV, JSON, "parquet", "orc", "avro", EXCEL, TEXT, DOCUMENT, BLOB)
DELIMITED: Final = (CSV, TSV)
WITH_LINES: Final = (*DELIMITED, TEXT, EXCEL)
"""The formats whose first lines, or rows, can be left out."""
BODY: Final = "body"
"""The column of lines and of whole files."""
FORMER_JSON: Final = "jsonLogicalTypesAsText"
"""The property of stages that write JSON as versions before that of CDAP's form did."""
FORMER_TEXTS: Final = "logicalTypesAsText"
"""The property of stages that write values as texts as versions before those of CDAP's did."""
_NAMES: Final = {detection.JSON_LINES: JSON, detection.JSON_DOCUMENT: JSON}
"""Formats by those of detection, where their names differ."""
_DETECTED: Final = {
    CSV: detection.DELIMITED,
    TSV: detection.DELIMITED,
    JSON: detection.JSON_LINES,
    DOCUMENT: detection.TEXT,
}
"""Formats of detection by what is asked for, where their names differ."""


class FileInput(msgspec.Struct, frozen=True):
    """A file to read. What is None is detected."""

    path: str
    format: str | None = None
    """One of :data:`INPUT_FORMATS`."""
    delimiter: str | None = None
    """One character between the values of a line."""
    header: bool | None = None
    """Whether the first line, or row of a sheet, has names."""
    encoding: str | None = None
    sheet: str | None = None
    """The name of a sheet; by default the first one is read."""
    skip_lines: int | None = None
    """How many lines, or rows of a sheet, at the beginning are left out, such as a title above the names."""


class FileFormat(msgspec.Struct, frozen=True):
    """How a file is read."""

    format: str
    """One of :data:`INPUT_FORMATS`."""
    delimiter: str = ","
    header: bool = True
    encoding: str = "utf-8"
    """The name of a codec of Python."""
    skip_lines: int = 0
    is_quoted: bool = True
    """Whether quotes may enclose values."""
    is_multiline: bool = False
    """Whether a quoted value is known to contain a line end."""


def detect_format(file: FileInput) -> FileFormat:
    """Return how a file is read.

    :raises BadRequestError: when the file cannot be read, or what is asked for is unknown.
    """
    return build_format(file, detect_input_facts(file, read_input_head(file.path)))


def detect_input_facts(file: FileInput, head: FileHead) -> FileFacts:
    """Return what is asked for of a file, and what its beginning says of the rest.

    :raises BadRequestError: when what is asked for is unknown.
    """
    return detect_facts(head, _check_input(file))


def build_format(file: FileInput, facts: FileFacts) -> FileFormat:
    """Return how a file is read of which facts are known.

    :raises BadRequestError: when lines are to be left out in a format without lines.
    """
    format = file.format or _name_format(facts)
    is_delimited = format in DELIMITED
    header = file.header if file.header is not None else facts.has_header or not is_delimited
    skipped = facts.title_lines if is_delimited else file.skip_lines or 0
    if skipped and format not in WITH_LINES:
        raise BadRequestError(
            f"The first lines of a file cannot be left out where it is read as {format}.",
            f"Formats with lines or rows are: {', '.join(WITH_LINES)}.",
        )
    return FileFormat(
        format,
        facts.delimiter or ",",
        header,
        facts.encoding,
        skipped,
        is_multiline=facts.is_multiline,
    )


def read_input_head(path: str) -> FileHead:
    """Read the beginning of a file.

    :raises BadRequestError: when the file cannot be read.
    """
    try:
        return read_head(path)
    except FileNotFoundError:
        raise BadRequestError(f"The file '{path}' does not exist.", "Correct the path.") from None
    except IsADirectoryError:
        raise BadRequestError(f"'{path}' is a folder.", "Name one file.") from None
    except READ_ERRORS as error:
        raise BadRequestError(
            f"The file '{path}' cannot be read: {describe_reason(error)}."
        ) from None


def describe_format(format: FileFormat) -> str:
    """Return a format in words, such as ``csv with ';', names in the first line``."""
    name, count = format.format, format.skip_lines
    skipped = (
        f", without the first {plural(count, 'line') if count > 1 else 'line'}" if count else ""
    )
    if name not in DELIMITED:
        return name + skipped
    where = f"line {count + 1}" if count else "the first line"
    names = f"names in {where}" if format.header else "no line of names"
    shown = "tabs" if format.delimiter == "\t" else f"'{format.delimiter}'"
    delimiter = "" if name == TSV else f" with {shown}"
    return f"{name}{delimiter}{skipped}, {names}"


def _check_input(file: FileInput) -> DetectionOptions:
    if file.format is not None and file.format not in INPUT_FORMATS:
        raise BadRequestError(
            f"The format '{file.format}' is unknown.", f"Choose one of: {', '.join(INPUT_FORMATS)}."
        )
    encoding = None
    if file.encoding is not None:
        encoding = find_encoding(file.encoding)
        if encoding is None:
            raise BadRequestError(
                f"The encoding '{file.encoding}' is unknown.", "Use UTF-8, UTF-16, Windows-1252 …"
            )
    delimiter = file.delimiter or ("\t" if file.format == TSV else None)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise BadRequestError(
            f"The delimiter {delimiter!r} is not one character that is neither a quote nor a line end.",
            "Use a comma, a semicolon, a tab or another character.",
        )
    format = _DETECTED.get(file.format, file.format) if file.format is not None else None
    return DetectionOptions(format, encoding, delimiter, file.header, file.skip_lines)


def _name_format(facts: FileFacts) -> str:
    if facts.format == detection.DELIMITED:
        return TSV if facts.delimiter == "\t" else CSV
    return _NAMES.get(facts.format, facts.format)


FORMATS_OF_SOURCES: Final = {"delimited": CSV, "xls": EXCEL}
"""Formats of files by those of CDAP's file sources, where their names differ."""
_SOURCE_FORMATS: Final = {EXCEL: "xls", DOCUMENT: BLOB}
"""Formats of CDAP's file sources, where their names differ."""


def build_source_properties(format: FileFormat) -> dict[str, str]:
    """Return the properties with which a file source of CDAP reads files on Spark, without path and schema.

    A source leaves out no lines above a table, and reads a document as its bytes.
    """
    name, delimiter = format.format, format.delimiter
    properties = {"format": _SOURCE_FORMATS.get(name, name)}
    if name in (*DELIMITED, EXCEL):
        properties["skipHeader"] = str(format.header).lower()
    if name in DELIMITED:
        properties["format"] = get_format_of_delimiter(delimiter)
        properties["enableQuotedValues"] = str(format.is_quoted).lower()
    if properties["format"] == "delimited":
        properties["delimiter"] = delimiter
    if format.is_multiline:
        properties["enableMultilineSupport"] = "true"
    if get_java_name(format.encoding) != "UTF-8":
        properties["fileEncoding"] = get_java_name(format.encoding)
    return properties


def build_spark_options(format: FileFormat) -> dict[str, str | bool]:
    """Return the options of Spark's CSV reader, which has quotes as RFC 4180.

    A wrong record fails the query. An empty value in quotes is an empty text, and has to be made null.
    """
    return {
        "sep": format.delimiter,
        "header": format.header,
        "encoding": get_java_name(format.encoding),
        "quote": '"',
        "escape": '"',
        "multiLine": True,
        "mode": "FAILFAST",
    }


def make_arrow_format(format: FileFormat, schema: pa.Schema) -> Any:
    """Return how ``pyarrow.dataset`` reads files, as a ``pyarrow.dataset.FileFormat``.

    An empty value of CSV is null, and an empty text if it is in quotes.

    :param format: csv, tsv, json, orc or parquet; with any other one the files cannot be read, but listed.
    :param schema: the columns of the files, in their order.
    """
    import pyarrow.csv as pc
    import pyarrow.dataset as pd
    import pyarrow.json as pj

    if format.format == JSON:
        return pd.JsonFileFormat(read_options=None, parse_options=pj.ParseOptions(schema))
    if format.format not in DELIMITED:
        if format.format == "orc":
            return pd.OrcFileFormat()
        # In nanoseconds, timestamps of 96 bits before 1678 and after 2262 would wrap.
        return pd.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    return pd.CsvFileFormat(
        parse_options=pc.ParseOptions(delimiter=format.delimiter, newlines_in_values=True),
        read_options=pc.ReadOptions(
            column_names=schema.names,
            skip_rows=format.skip_lines + (1 if format.header else 0),
            encoding=get_java_name(format.encoding),
        ),
        convert_options=pc.ConvertOptions(
            column_types={field.name: field.type for field in schema},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
