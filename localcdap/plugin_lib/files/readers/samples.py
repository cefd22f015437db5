"""The first records of files without Spark, where they are certain to be those that Spark reads.

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

from localcdap.api import Field, Schema, SourceContext, SourceSampleContext
from localcdap.files.delimited import DELIMITED
from localcdap.files.encodings import COMPRESSED
from localcdap.plugin_lib.files.readers.line_format import (
    BOM,
    LINE,
    FilePiece,
    LineFormat,
    read_lines,
)
from localcdap.plugin_lib.files.readers.lines import VALUE, needs_python
from localcdap.plugin_lib.files.readers.records import (
    find_spark_format,
    get_line_format,
    read_files,
)
from localcdap.plugin_lib.files.source_config import FileSourceConfig
from localcdap.plugin_lib.spark.columns import allows_null

if TYPE_CHECKING:
    import pyarrow as pa

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
    keeps_empty = len(fields) == 1

    def read_rows() -> Iterator[list[Any]]:
        for line in lines:
            if not line and not keeps_empty:
                continue
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
