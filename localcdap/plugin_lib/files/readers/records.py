"""Files of all formats as records of a schema."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from localcdap.api import (
    Field,
    InputFormat,
    Schema,
    SourceContext,
    SourceSampleContext,
    SparkFormat,
    StageError,
)
from localcdap.api.formats import INPUT_FORMAT
from localcdap.java.charsets import find_encoding
from localcdap.plugin_lib.files.formats import read_format_files, read_spark_files, require_format
from localcdap.plugin_lib.files.inputs import get_base_folders, is_remote
from localcdap.plugin_lib.files.readers.columnar import (
    read_avro_files,
    read_columnar_files,
    read_sheets,
)
from localcdap.plugin_lib.files.readers.delimited import read_multiline, read_values
from localcdap.plugin_lib.files.readers.json_lines import parse_json_lines
from localcdap.plugin_lib.files.readers.line_format import LineFormat
from localcdap.plugin_lib.files.readers.lines import (
    FILE,
    PathField,
    read_blobs,
    read_line_frame,
    read_text_files,
    read_valid_lines,
)
from localcdap.plugin_lib.files.source_config import FileSourceConfig, get_record_delimiter
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PYTHON_SPLIT = 32 * 1024 * 1024


def read_files(
    context: SourceContext,
    config: FileSourceConfig,
    files: Sequence[str],
    schema: Schema,
    document_path: str | None = None,
) -> DataFrame:
    """Read the records of the files as a DataFrame with the fields of ``schema``.

    :param document_path: the path in the pipeline document; if it is a URL, the path field holds URLs.
    """
    folder = None
    if document_path is not None and is_remote(document_path):
        folder = get_base_folders(context.resolve_path(document_path), document_path)
    path = PathField(config.path_field, config.filename_only, folder)
    split_size = min(config.max_split_size, _PYTHON_SPLIT)
    name = config.format_plugin
    if name is not None and find_spark_format(context, config) is None:
        return read_format_files(context, name, config.get_given(), files, schema, path)
    match config.format_name:
        case "text":
            format = get_line_format(config)
            return read_text_files(
                context, files, schema, format, path, split_size, copies_header=config.copies_header
            )
        case "blob":
            return read_blobs(context, files, schema, path)
        case "avro":
            return read_avro_files(context, files, schema, path)
        case "xls":
            return read_sheets(context, config, files, schema, path)
    content = [f for f in schema if f.name != config.path_field]
    if not content:
        raise StageError("The schema has no field but the path field; add one for the data.")
    inner = Schema.record(schema.name or "record", content)
    read = _read_content(context, config, files, inner, split_size)
    return read.select([_build_field(f, path) for f in schema])


def _read_content(
    context: SourceContext,
    config: FileSourceConfig,
    files: Sequence[str],
    schema: Schema,
    split_size: int,
) -> DataFrame:
    """Read the fields of the schema, and the URI of the file as the column :data:`FILE`."""
    by_spark = find_spark_format(context, config)
    if by_spark is not None:
        return read_spark_files(context, by_spark, files, schema)
    match config.format_name:
        case "json":
            format = dataclasses.replace(get_line_format(config), skip_header=False)
            lines = read_valid_lines(context, files, format, split_size)
            return parse_json_lines(context, lines, schema, with_file=config.path_field is not None)
        case "parquet" | "orc" as columnar:
            return read_columnar_files(context, files, schema, columnar)
    format = get_line_format(config)
    if config.enable_multiline_support:
        lines = read_multiline(context, files, format, doubled=config.doubled_quotes)
    else:
        lines = read_line_frame(context, files, format, split_size)
    return read_values(context, lines, config, format, schema)


def find_spark_format(
    context: SourceContext | SourceSampleContext, config: FileSourceConfig
) -> SparkFormat | None:
    """Return the data source of Spark that a format that is a plugin names."""
    name = config.format_plugin
    if name is None:
        return None
    format: InputFormat = require_format(
        context.find_plugin, INPUT_FORMAT, name, config.get_given()
    )
    return format.get_spark_format()


def get_line_format(config: FileSourceConfig) -> LineFormat:
    """Return the format of the lines of text files, without its columns."""
    return LineFormat(
        columns=(),
        encoding=find_encoding(config.file_encoding) or "utf-8",
        separator=get_record_delimiter(config),
        skip_header=config.skip_header,
    )


def _build_field(field: Field, path: PathField) -> Column:
    if field.name != path.name:
        return get_column(field.name)
    return path.format_uri_column(get_column(FILE)).alias(field.name)
