"""Files of every format as records of a schema."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from localcdap.api import Field, Schema, SourceContext, StageError
from localcdap.java.charsets import find_encoding
from localcdap.plugin_lib.files.inputs import folders, is_remote
from localcdap.plugin_lib.files.readers.avro import avro_records
from localcdap.plugin_lib.files.readers.delimited import (
    multiline_values,
    typed_records,
    with_values,
)
from localcdap.plugin_lib.files.readers.json_lines import json_records
from localcdap.plugin_lib.files.readers.line_format import LineFormat
from localcdap.plugin_lib.files.readers.lines import (
    FILE,
    PathField,
    file_uri,
    lines_of,
    spark_paths,
)
from localcdap.plugin_lib.files.readers.sheets import sheet_records
from localcdap.plugin_lib.files.readers.text import blob_records, text_records
from localcdap.plugin_lib.files.source_checks import record_delimiter
from localcdap.plugin_lib.files.source_config import FileSourceConfig
from localcdap.plugin_lib.spark.columns import column
from localcdap.plugin_lib.spark.conversion import conformed_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PYTHON_SPLIT = 32 * 1024 * 1024


def read_files(
    context: SourceContext,
    config: FileSourceConfig,
    files: Sequence[str],
    schema: Schema,
    written: str | None = None,
) -> DataFrame:
    """The records of the files, lazily; the columns are the fields of ``schema``.

    :param written: the path as the document has it, by which the path field calls the files when it is a URL.
    """
    folder = None
    if written is not None and is_remote(written):
        folder = folders(context.resolve_path(written), written)
    path = PathField(config.path_field, config.filename_only, folder)
    split_size = min(config.max_split_size, _PYTHON_SPLIT)
    match config.format_name:
        case "text":
            format = _line_format(config)
            return text_records(context, files, schema, format, path, split_size)
        case "blob":
            return blob_records(context, files, schema, path)
        case "avro":
            return avro_records(context, files, schema, path)
        case "xls":
            return sheet_records(context, config, files, schema, path)
    content = [f for f in schema if f.name != config.path_field]
    if not content:
        raise StageError("The schema has no field but the path field; add one for the data.")
    inner = Schema.record(schema.name or "record", content)
    read = _read_content(context, config, files, inner, split_size)
    return read.select([_field(f, path) for f in schema])


def _read_content(
    context: SourceContext,
    config: FileSourceConfig,
    files: Sequence[str],
    schema: Schema,
    split_size: int,
) -> DataFrame:
    """The fields of the schema, and the URI of the file in the column ``file``."""
    match config.format_name:
        case "json":
            format = dataclasses.replace(_line_format(config), skip_header=False)
            return json_records(context, lines_of(context, files, format, split_size), schema)
        case "parquet" | "orc" as columnar:
            return columnar_records(context, files, schema, columnar)
    is_quoted, delimiter = config.enable_quoted_values, config.value_delimiter
    format = _line_format(config)
    if config.enable_multiline_support:
        split = multiline_values(context, files, format, delimiter)
    else:
        lines = lines_of(context, files, format, split_size)
        keeps_empty = len(schema.field_names) == 1
        split = with_values(context, lines, delimiter, quoted=is_quoted, keep_empty=keeps_empty)
    return typed_records(context, split, schema, quoted=is_quoted)


def _line_format(config: FileSourceConfig) -> LineFormat:
    return LineFormat(
        columns=(),
        encoding=find_encoding(config.file_encoding) or "utf-8",
        separator=record_delimiter(config),
        skip_header=config.skip_header,
    )


def _field(field: Field, path: PathField) -> Column:
    if field.name != path.name:
        return column(field.name)
    return path.column(column(FILE)).alias(field.name)


def columnar_records(
    context: SourceContext, files: Sequence[str], schema: Schema, format: str
) -> DataFrame:
    """The fields of the schema from files of ``format``, and the URI in ``file``."""
    reader = context.spark.read.format(format).option("recursiveFileLookup", "true")
    # Without merging, the first file alone would decide which fields there are.
    reader = reader.option("mergeSchema", str(len(files) > 1).lower())
    read = reader.load(spark_paths(files))
    return read.select(file_uri().alias(FILE), *conformed_columns(context, read, schema))
