"""Records of delimited text (CDAP 6 ``PathTrackingDelimitedInputFormat``)."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    AlteredRows,
    Field,
    Schema,
    SourceContext,
    SparkContext,
    StageError,
    Type,
)
from localcdap.files.delimited import OPEN_QUOTE, join_quoted_lines
from localcdap.plugin_lib.files.inputs import require_file_system
from localcdap.plugin_lib.files.readers.line_format import (
    LINE,
    REPLACED,
    FilePiece,
    LineFormat,
    read_lines,
)
from localcdap.plugin_lib.files.readers.lines import FILE, LINES, VALUE, describe_replaced
from localcdap.plugin_lib.files.source_config import FileSourceConfig
from localcdap.plugin_lib.spark.columns import allows_null, build_failure, get_column, to_ddl
from localcdap.plugin_lib.spark.conversion import from_text, loses_digits

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

VALUES: Final = "values of the line"
_LINE: Final = "text of the line"
_SHOWN: Final = 200
"""Characters of a line that an error message shows."""
_ROWS: Final = 8192
_QUOTES_LOST: Final = (
    "quotes within a value were left out; set 'doubledQuotes' if two quotes stand for one"
)
_NO_FLAG: Final = "a text other than 'true' and 'false' became false, as in CDAP"
_DIGITS_LOST: Final = "digits that the type of a field does not hold were left out"


def read_values(
    context: SourceContext,
    lines: DataFrame,
    config: FileSourceConfig,
    format: LineFormat,
    schema: Schema,
) -> DataFrame:
    """Split lines as :func:`.split_values` does, and convert the values to the fields of a schema.

    The result has the column :data:`FILE` beside them. Missing values at the end of a line are null: an empty
    line becomes nulls. The run fails, with file and line, if a value does not fit its field, or a line has
    more values than the schema has fields.

    :param lines: as :func:`.read_line_frame` reads them.
    """
    from pyspark.sql import functions as F  # noqa: N812

    quoted, line, fields = config.enable_quoted_values, F.col(VALUE), list(schema)
    values = F.split(line, _escape_literal(config.value_delimiter), -1)
    if quoted:
        split = _split_quoted(context, line, config)
        values = F.when(~F.contains(line, F.lit('"')), values).otherwise(split)
    too_many = context.raising(_describe_extra_values(schema, quoted=quoted)).cast("array<string>")
    # The check is part of the column, because Spark would split each line again for a filter.
    counted = F.when(F.size(VALUES) <= len(fields), F.col(VALUES)).otherwise(too_many)
    texts = [F.get(VALUES, F.lit(index)) for index in range(len(fields))]
    columns = [
        _build_field(context, text, field).alias(field.name)
        for text, field in zip(texts, fields, strict=True)
    ]
    needed = context.needed_fields
    used = [
        (text, field)
        for text, field in zip(texts, fields, strict=True)
        if needed is None or field.name in needed
    ]
    rows = lines.withColumn(VALUES, values).withColumn(VALUES, counted)
    # What is altered is found by the values that were read, so that none is converted twice.
    rows = rows.select(FILE, REPLACED, line.alias(_LINE), VALUES, *columns)
    places = {
        f"place of change {number}": change
        for number, change in enumerate(_find_changes(config, used, format))
    }
    rows = rows.select(
        FILE,
        *[get_column(field.name) for field in fields],
        *[change.first.alias(place) for place, change in places.items()],
    )
    observed = [replace(change, first=F.col(place)) for place, change in places.items()]
    return context.observe_altered(rows, *observed).drop(*places)


def _find_changes(
    config: FileSourceConfig, used: Sequence[tuple[Column, Field]], format: LineFormat
) -> Iterator[AlteredRows]:
    """Yield what becomes of lines other than it is written, for rows with the line as :data:`_LINE`.

    :param used: the texts of the fields that are read.
    """
    from pyspark.sql import functions as F  # noqa: N812

    line = F.col(_LINE)
    if config.enable_quoted_values and not config.doubled_quotes:
        has_more = F.contains(line, F.lit('"')) & ~line.rlike(_build_enclosed_pattern(config))
        yield AlteredRows(_QUOTES_LOST, F.when(has_more, _describe_line(line)), str.strip)
    flags = [
        ~get_column(field.name) & (F.lower(text) != "false")
        for text, field in used
        if _is_boolean(field.schema)
    ]
    if flags:
        yield AlteredRows(_NO_FLAG, _describe_if_any(flags), str.strip)
    found = [loses_digits(text, get_column(field.name), field.schema) for text, field in used]
    cuts = [cut for cut in found if cut is not None]
    if cuts:
        yield AlteredRows(_DIGITS_LOST, _describe_if_any(cuts), str.strip)
    # Spark replaced the malformed bytes when it split the line. Most lines have none to look for.
    read = [F.contains(text, F.lit("\ufffd")) for text, field in used if _is_text(field.schema)]
    if read:
        replaced = describe_replaced(format)
        yield replace(replaced, first=F.when(_is_any(read), replaced.first))


def _describe_if_any(conditions: Sequence[Column]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.when(_is_any(conditions), _describe_line(F.col(_LINE)))


def _is_any(conditions: Sequence[Column]) -> Column:
    """Return whether a condition is true; null is not."""
    return functools.reduce(lambda one, other: one | other, conditions)


def _split_quoted(context: SparkContext, line: Column, config: FileSourceConfig) -> Column:
    """Split a line in which quotes enclose delimiters.

    Each match consumes the delimiter before its value, so that a delimiter is put before the line.
    """
    from pyspark.sql import functions as F  # noqa: N812

    delimiter = config.value_delimiter
    separator = _escape_literal(delimiter)
    plain = '[^"]' if len(delimiter) > 1 else f'[^"{_escape_in_class(delimiter)}]'
    other = f"(?!{separator}){plain}" if len(delimiter) > 1 else plain
    pattern = f'{separator}((?:(?:{other})++|"[^"]*+")*+)'
    found = F.regexp_extract_all(F.concat(F.lit(delimiter), line), F.lit(pattern), F.lit(1))
    quotes = F.length(line) - F.length(F.replace(line, F.lit('"'), F.lit("")))
    unclosed = F.concat(F.lit(OPEN_QUOTE), _describe_line())
    closed = F.when(quotes % 2 == 0, True).otherwise(context.raising(unclosed))
    return F.when(
        closed, F.transform(found, _unescape if config.doubled_quotes else _remove_quotes)
    )


def _remove_quotes(value: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.replace(value, F.lit('"'), F.lit(""))


def _unescape(value: Column) -> Column:
    """Remove the quotes of a value; two quotes inside them stand for one."""
    from pyspark.sql import functions as F  # noqa: N812

    trimmed = F.trim(value)
    inside = F.substring(trimmed, F.lit(2), F.length(trimmed) - 2)
    enclosed = trimmed.rlike('(?s)^".*"$')
    return F.when(enclosed, F.replace(inside, F.lit('""'), F.lit('"'))).otherwise(
        _remove_quotes(value)
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
    if _is_boolean(schema):
        value = F.when(text != "", F.lower(text) == "true")
    else:
        value = from_text(text, schema)
        value = (F.when(_has_no_blanks(text), value) if _is_strict(schema) else value).cast(
            to_ddl(schema)
        )
    if not allows_null(schema):
        return F.coalesce(value, failure)
    # An empty text is null. Only the conversion to bytes has a value for it.
    is_bytes = schema.non_nullable == Schema.BYTES
    return F.coalesce(F.when(text != "", value) if is_bytes else value, F.when(text != "", failure))


def _is_strict(schema: Schema) -> bool:
    """Return whether Java's parser of a type refuses blanks around a value (``convertString``)."""
    inner = schema.non_nullable
    return inner.type in (Type.INT, Type.LONG) or inner.logical_type is not None


def _has_no_blanks(text: Column) -> Column:
    """Whether no blank or tab, which Spark's casts leave out, is around a number, a date or a time.

    What these may begin with comes after the blanks and control characters. Comparing beginning and end takes
    less time than a regular expression.
    """
    from pyspark.sql import functions as F  # noqa: N812

    return (text >= "+") & ~F.endswith(text, F.lit(" ")) & ~F.endswith(text, F.lit("\t"))


def _is_text(schema: Schema) -> bool:
    return schema.non_nullable == Schema.STRING


def _is_boolean(schema: Schema) -> bool:
    return schema.non_nullable == Schema.BOOLEAN


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


def _describe_line(line: Column | None = None) -> Column:
    """Build the part of a message that names the file and quotes the line, by default :data:`VALUE`."""
    from pyspark.sql import functions as F  # noqa: N812

    text = F.col(VALUE) if line is None else line
    return F.concat(F.lit(" File: "), F.col(FILE), F.lit("; line: "), F.substring(text, 1, _SHOWN))


def _escape_literal(text: str) -> str:
    return re.sub(r"([^A-Za-z0-9\s])", r"\\\1", text)


def _escape_in_class(char: str) -> str:
    return char if char.isalnum() or char.isspace() else f"\\{char}"


def _build_enclosed_pattern(config: FileSourceConfig) -> str:
    """Return the pattern of lines in which quotes stand only around whole values."""
    delimiter = config.value_delimiter
    separator = _escape_literal(delimiter)
    blanks = "" if " " in delimiter else " *"
    value = f'(?:{blanks}"[^"]*+"{blanks}(?={separator}|$)|(?:(?!{separator})[^"])*+)'
    return f"(?s)^{value}(?:{separator}{value})*+$"


def read_multiline(
    context: SourceContext, files: Sequence[str], format: LineFormat, *, doubled: bool
) -> DataFrame:
    """Read lines whose quoted values may contain line ends into the columns of :func:`.read_line_frame`.

    :param doubled: as for :func:`.join_quoted_lines`.
    """
    require_file_system(context, files)
    read = functools.partial(join_lines, format=format, doubled=doubled)
    return context.generate(LINES, list(files), read)


def join_lines(file: str, format: LineFormat, *, doubled: bool) -> Iterator[pa.RecordBatch]:
    """Yield the lines of a file, joined where a quoted value contains line ends, in batches.

    :raises StageError: when a quote is not closed, or the file cannot be read.
    """
    import pyarrow as pa

    asked = replace(format, columns=((VALUE, LINE), (REPLACED, REPLACED)))
    uri, replaced = Path(file).as_uri(), False

    def read_texts() -> Iterator[str]:
        nonlocal replaced
        for batch in read_lines(FilePiece(file, ""), asked):
            texts, files = (column.to_pylist() for column in batch.columns)
            for text, replaced_in in zip(texts, files, strict=True):
                replaced = replaced or replaced_in is not None
                yield text

    def read_records() -> Iterator[tuple[str, str | None]]:
        nonlocal replaced
        for record in join_quoted_lines(read_texts(), doubled=doubled):
            yield record, uri if replaced else None
            replaced = False

    records = read_records()
    try:
        while chunk := list(itertools.islice(records, _ROWS)):
            texts, files = zip(*chunk, strict=True)
            columns = [texts, [uri] * len(texts), files]
            arrays = [pa.array(column, pa.string()) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, LINES.field_names)
    except ValueError as error:
        raise StageError(f"{error} File: {uri}") from None
