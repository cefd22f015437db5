"""Files of all formats as records of a schema: by Spark, and their first records without it.

Formats whose files Python reads in a run too are read by the same functions. The lines of delimited text are
split by Spark's expressions in a run; here only values in the plainest form are taken, for which the result
is beyond doubt. Everything else is left to Spark.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

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
from localcdap.files.delimited import DELIMITED
from localcdap.files.encodings import COMPRESSED
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
from localcdap.plugin_lib.files.readers.line_format import (
    BOM,
    LINE,
    FilePiece,
    LineFormat,
    read_lines,
)
from localcdap.plugin_lib.files.readers.lines import (
    FILE,
    VALUE,
    PathField,
    needs_python,
    read_blobs,
    read_line_frame,
    read_text_files,
    read_valid_lines,
)
from localcdap.plugin_lib.files.source_config import FileSourceConfig, get_record_delimiter
from localcdap.plugin_lib.spark.columns import allows_null, get_column

if TYPE_CHECKING:
    import pyarrow as pa
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
            with_file = config.path_field is not None
            return parse_json_lines(context, lines, schema, format, with_file=with_file)
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


_READ_BY_PYTHON: Final = ("blob", "avro", "xls")
_REPLACED: Final = "\ufffd"
"""What stands for bytes that are not UTF-8; Spark keeps the bytes."""
_WORDS: Final = {"true": True, "false": False}
_PLAIN_VALUES: Final[dict[Schema, tuple[re.Pattern[str], Callable[[str], Any]]]] = {
    Schema.STRING: (re.compile("(?s).*"), str),
    Schema.BOOLEAN: (re.compile("true|false"), _WORDS.__getitem__),
    Schema.INT: (re.compile("-?[0-9]{1,9}"), int),
    Schema.LONG: (re.compile("-?[0-9]{1,18}"), int),
    Schema.DOUBLE: (re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?"), float),
}
"""By type, the texts that Java and Python parse alike, and the conversion."""


class _DoubtfulValueError(Exception):
    """Only Spark can tell what becomes of a line."""


def sample_files(
    context: SourceSampleContext,
    config: FileSourceConfig,
    files: Sequence[str],
    schema: Schema,
    limit: int,
    document_path: str | None = None,
) -> Iterable[pa.RecordBatch] | None:
    """Return the first records of files; None when Spark must read them.

    The arguments are those of :func:`.records.read_files`.
    """
    format = get_line_format(config)
    is_text = config.format_name == "text"
    is_plugin = config.format_plugin is not None
    if is_plugin and find_spark_format(context, config) is not None:
        return None
    if (
        is_plugin
        or config.format_name in _READ_BY_PYTHON
        or (is_text and needs_python(schema, format, copies_header=config.copies_header))
    ):
        # These readers do nothing with Spark but call ``generate``, which yields the batches here.
        spark_context = cast("SourceContext", context)
        batches: Any = read_files(spark_context, config, files, schema, document_path)
        return cast("Iterable[pa.RecordBatch]", batches)
    is_delimited = config.format_name in DELIMITED
    if not (is_text or is_delimited) or config.enable_multiline_support:
        return None
    # Spark reads several files in an order of its own.
    if len(files) != 1 or not format.splittable or files[0].lower().endswith(COMPRESSED):
        return None
    if config.path_field is not None or (is_text and schema.field_names != ["body"]):
        return None
    lines = _read_plain_lines(files[0], format)
    if is_text:
        return _yield_batches(schema, ([line] for line in lines), limit)
    return _sample_delimited(config, lines, schema, limit)


def _sample_delimited(
    config: FileSourceConfig, lines: Iterator[str], schema: Schema, limit: int
) -> list[pa.RecordBatch] | None:
    fields = list(schema)
    if any(f.schema.non_nullable not in _PLAIN_VALUES for f in fields):
        return None
    delimiter, quoted = config.value_delimiter, config.enable_quoted_values

    def read_rows() -> Iterator[list[Any]]:
        for line in lines:
            texts = line.split(delimiter)
            if len(texts) > len(fields) or (quoted and '"' in line):
                raise _DoubtfulValueError
            missing = [None] * (len(fields) - len(texts))
            yield [_parse_plain(t, f) for t, f in zip([*texts, *missing], fields, strict=True)]

    return _yield_batches(schema, read_rows(), limit)


def _parse_plain(text: str | None, field: Field) -> Any:
    """Return the value of a text.

    :raises _DoubtfulValueError: for every text that is not in the plainest form, also wrong ones.
    """
    if not text and allows_null(field.schema):
        return None
    pattern, convert = _PLAIN_VALUES[field.schema.non_nullable]
    if text is None or not pattern.fullmatch(text):
        raise _DoubtfulValueError
    return convert(text)


def _read_plain_lines(file: str, format: LineFormat) -> Iterator[str]:
    """Yield the lines of a file in UTF-8.

    :raises _DoubtfulValueError: for a line that is not.
    """
    with Path(file).open("rb") as content:
        if content.read(len(BOM) + 1) == BOM:
            raise _DoubtfulValueError  # Spark finds no line, not an empty one
    asked = dataclasses.replace(format, columns=((VALUE, LINE),))
    for batch in read_lines(FilePiece(file, ""), asked):
        for line in batch.column(0).to_pylist():
            if _REPLACED in line:
                raise _DoubtfulValueError
            yield line


def _yield_batches(
    schema: Schema, rows: Iterator[list[Any]], limit: int
) -> list[pa.RecordBatch] | None:
    """Return rows as one batch; None when one of them is in doubt."""
    import itertools

    from localcdap.api.arrow import RecordCodec

    try:
        records = [
            dict(zip(schema.field_names, row, strict=True)) for row in itertools.islice(rows, limit)
        ]
    except _DoubtfulValueError:
        return None
    return [RecordCodec(schema).encode(records)]
