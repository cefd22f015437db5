"""Records of delimited text (CDAP 6 ``PathTrackingDelimitedInputFormat``)."""

from __future__ import annotations

import csv
import functools
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api import Field, Schema, SourceContext, SparkContext, StageError, Type
from localcdap.files.encodings import open_text
from localcdap.plugin_lib.files.inputs import require_file_system
from localcdap.plugin_lib.files.readers.line_format import LineFormat
from localcdap.plugin_lib.files.readers.lines import FILE, VALUE
from localcdap.plugin_lib.spark.checks import allows_null, build_failure
from localcdap.plugin_lib.spark.columns import to_ddl
from localcdap.plugin_lib.spark.conversion import from_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

VALUES: Final = "values"
_SHOWN: Final = 200
"""Characters of a line that an error message shows."""
_ROWS: Final = 8192


def split_lines(
    context: SparkContext, lines: DataFrame, delimiter: str, *, quoted: bool, keep_empty: bool
) -> DataFrame:
    """Split lines at the delimiters into the column ``values``.

    Without ``quoted``, a quote is an ordinary character. Empty lines are dropped unless ``keep_empty``.
    """
    from pyspark.sql import functions as F  # noqa: N812

    line = F.col(VALUE)
    values = F.split(line, _escape_literal(delimiter), -1)
    if quoted:
        values = F.when(~F.contains(line, F.lit('"')), values).otherwise(
            _split_quoted(context, line, delimiter)
        )
    kept = lines if keep_empty else lines.filter(line != "")
    return kept.select(VALUE, FILE, values.alias(VALUES))


def convert_values(
    context: SparkContext, split: DataFrame, schema: Schema, *, quoted: bool
) -> DataFrame:
    """Convert the column ``values`` to the fields of a schema; the column ``file`` is kept.

    Missing values at the end of a line are null. The run fails, with file and line, if a value does not fit
    its field, or a line has more values than the schema has fields.
    """
    from pyspark.sql import functions as F  # noqa: N812

    values = F.col(VALUES)
    too_many = context.raising(_describe_extra_values(schema, quoted=quoted)).cast("array<string>")
    # The check is part of the column, because Spark would split each line again for a filter.
    counted = F.when(F.size(values) <= len(schema.fields or ()), values).otherwise(too_many)
    columns = [
        _build_field(context, F.get(values, F.lit(i)), each).alias(each.name)
        for i, each in enumerate(schema)
    ]
    return split.withColumn(VALUES, counted).select(FILE, *columns)


def _split_quoted(context: SparkContext, line: Column, delimiter: str) -> Column:
    """Split a line in which quotes enclose delimiters.

    Each match consumes the delimiter before its value, so that a delimiter is put before the line.
    """
    from pyspark.sql import functions as F  # noqa: N812

    separator = _escape_literal(delimiter)
    plain = '[^"]' if len(delimiter) > 1 else f'[^"{_escape_in_class(delimiter)}]'
    other = f"(?!{separator}){plain}" if len(delimiter) > 1 else plain
    pattern = f'{separator}((?:(?:{other})++|"[^"]*+")*+)'
    found = F.regexp_extract_all(F.concat(F.lit(delimiter), line), F.lit(pattern), F.lit(1))
    quotes = F.length(line) - F.length(F.replace(line, F.lit('"'), F.lit("")))
    unclosed = F.concat(
        F.lit(
            "Found a line with an unenclosed quote. Ensure that all values are properly quoted, or "
            "disable quoted values."
        ),
        _describe_line(),
    )
    closed = F.when(quotes % 2 == 0, True).otherwise(context.raising(unclosed))
    return F.when(closed, F.transform(found, _unquote_cdap_text))


def _unquote_cdap_text(value: Column) -> Column:
    """Remove the quotes of a value; two quotes inside them stand for one."""
    from pyspark.sql import functions as F  # noqa: N812

    trimmed = F.trim(value)
    inside = F.substring(trimmed, F.lit(2), F.length(trimmed) - 2)
    enclosed = trimmed.rlike('(?s)^".*"$')
    return F.when(enclosed, F.replace(inside, F.lit('""'), F.lit('"'))).otherwise(
        F.replace(value, F.lit('"'), F.lit(""))
    )


def _build_field(context: SparkContext, text: Column, field: Field) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    schema = field.schema
    if schema.type is Type.NULL:
        return F.lit(None)
    if schema.non_nullable == Schema.STRING and allows_null(schema):
        return F.when(text != "", text)
    given = F.coalesce(F.concat(F.lit("'"), text, F.lit("'")), F.lit("missing"))
    message = F.concat(
        F.lit(f"Field '{field.name}' must be of type {schema.display_name}, but it is "),
        given,
        F.lit("."),
        _describe_line(),
    )
    failure = build_failure(context, message, schema)
    value = from_text(text, schema).cast(to_ddl(schema))
    if not allows_null(schema):
        return F.coalesce(value, failure)
    # An empty text is null. Only the conversion to bytes has a value for it.
    is_bytes = schema.non_nullable == Schema.BYTES
    return F.coalesce(F.when(text != "", value) if is_bytes else value, F.when(text != "", failure))


def _describe_extra_values(schema: Schema, *, quoted: bool) -> Column:
    """Build the message for a line that has more values than the schema has fields."""
    from pyspark.sql import functions as F  # noqa: N812

    count = len(schema.fields or ())
    hint = F.lit(" Check that the schema contains the right number of fields.")
    body = schema.field("body")
    if body is not None and body.schema.non_nullable == Schema.STRING:
        hint = F.lit(" Did you mean to use the 'text' format?")
    elif not quoted:
        check_quotes = F.lit(" Check if quoted values should be allowed.")
        hint = F.concat(
            F.when(F.contains(F.col(VALUE), F.lit('"')), check_quotes).otherwise(""), hint
        )
    return F.concat(
        F.lit("Found a row with "),
        F.size(VALUES).cast("string"),
        F.lit(
            f" fields when the schema only contains {count} field{'' if count == 1 else 's'}"
            f" ({', '.join(schema.field_names[:20])})."
        ),
        hint,
        _describe_line(),
    )


def _describe_line() -> Column:
    """Build the part of a message that names the file and quotes the line."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.concat(
        F.lit(" File: "), F.col(FILE), F.lit("; line: "), F.substring(F.col(VALUE), 1, _SHOWN)
    )


def _escape_literal(text: str) -> str:
    return re.sub(r"([^A-Za-z0-9\s])", r"\\\1", text)


def _escape_in_class(char: str) -> str:
    return char if char.isalnum() or char.isspace() else f"\\{char}"


def split_multiline(
    context: SourceContext, files: Sequence[str], format: LineFormat, delimiter: str
) -> DataFrame:
    """Read quoted values that may contain line ends into the columns of :func:`split_lines`.

    ``value`` is shortened to what error messages quote.
    """
    require_file_system(context, files)
    schema = Schema.record(
        "row",
        [
            (VALUE, Schema.STRING),
            (FILE, Schema.STRING),
            (VALUES, Schema.array(Schema.STRING)),
        ],
    )
    read = functools.partial(read_rows, format=format, delimiter=delimiter)
    return context.generate(schema, list(files), read)


def read_rows(file: str, format: LineFormat, delimiter: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in batches, without empty lines.

    :raises StageError: when a quote is not closed, or the file cannot be read.
    """
    import pyarrow as pa

    csv.field_size_limit(sys.maxsize)
    try:
        with open_text(file, format.encoding, "replace") as text:
            rows = csv.reader(text, delimiter=delimiter, strict=True)
            if format.skip_header:
                next(rows, None)
            filled = (row for row in rows if row)
            while chunk := list(itertools.islice(filled, _ROWS)):
                shown = pa.array([delimiter.join(row)[:_SHOWN] for row in chunk])
                uris = pa.array([Path(file).as_uri()] * len(chunk))
                values = pa.array(chunk, pa.list_(pa.string()))
                yield pa.RecordBatch.from_arrays([shown, uris, values], [VALUE, FILE, VALUES])
    except csv.Error as error:
        raise StageError(
            f"File '{file}' cannot be read as quoted values up to line {rows.line_num}: {error}.",
            "Ensure that all values are properly quoted, or disable quoted values.",
        ) from None
    except (OSError, EOFError, UnicodeError) as error:
        raise StageError(f"File '{file}' cannot be read: {error}.") from error
