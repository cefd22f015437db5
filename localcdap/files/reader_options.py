"""Options with which Spark and DuckDB read files as :class:`.rows.RowReader` does.

All are computed from one description of the files. Spark and DuckDB read large files, because they leave
out columns and partitions that a query does not need. DuckDB reads files through Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.files.delimited import get_format_of_delimiter
from localcdap.files.encodings import get_java_name
from localcdap.files.formats import BLOB, CSV, DELIMITED, DOCUMENT, EXCEL, JSON, FileFormat

if TYPE_CHECKING:
    import pyarrow as pa


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
