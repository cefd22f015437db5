"""Delimited text of records (hydrator-plugins ``StructuredDelimitedOutputFormat``)."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from localcdap.api import Schema, SinkContext, SinkSampleContext, Type
from localcdap.plugin_lib.spark.columns import get_column
from localcdap.plugin_lib.spark.conversion import to_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_ROW_NUMBER: Final = (1 << 33) - 1
"""The bits of ``monotonically_increasing_id`` that count the rows of a partition."""
_NOT_QUOTED: Final = (
    "a delimiter, a quote or a line end in a value was written as it is, as CDAP does"
)
_SHOWN: Final = 200
"""Characters of a line that a warning shows."""
_ALTERED: Final = "altered"
_PLAIN: Final = re.compile("[0-9A-Za-z+./:=-]+")
"""What the texts of numbers, dates, booleans and bytes consist of."""


def write_delimited(
    df: DataFrame,
    context: SinkContext,
    schema: Schema,
    directory: str,
    delimiter: str,
    *,
    header: bool,
    quoted: bool,
) -> None:
    """Write a line for each record; null is an empty text.

    :param quoted: whether to quote values that contain the delimiter, a quote or a line end. Otherwise their
        records are counted.
    """
    from pyspark.sql import functions as F  # noqa: N812

    texts = {f.name: to_text(get_column(f.name), f.schema) for f in schema}
    checked = list_checked_fields(schema, delimiter)
    special = [_is_special(texts[name], delimiter) for name in checked]
    if quoted:
        for name, is_special in zip(checked, special, strict=True):
            texts[name] = _quote(texts[name], is_special)
    line = F.concat_ws(delimiter, *[F.coalesce(text, F.lit("")) for text in texts.values()])
    lines = df.select(line.alias("value"))
    if special and not quoted:
        known = [F.coalesce(each, F.lit(False)) for each in special]
        is_altered = functools.reduce(lambda one, other: one | other, known)
        altered = F.when(is_altered, F.substring(line, 1, _SHOWN)).alias(_ALTERED)
        first = F.col(_ALTERED)
        lines = df.select(line.alias("value"), altered)
        lines = context.observe_altered(lines, _NOT_QUOTED, first.isNotNull(), first)
    value = F.col("value")
    if header:
        names = F.lit(delimiter.join(schema.field_names) + "\n")
        # Each partition becomes one file.
        is_first = F.monotonically_increasing_id().bitwiseAND(_ROW_NUMBER) == 0
        value = F.when(is_first, F.concat(names, value)).otherwise(value)
    lines.select(value.alias("value")).write.mode("append").text(directory)


def count_altered(
    context: SinkSampleContext, batch: pa.RecordBatch, schema: Schema, delimiter: str
) -> None:
    """Count the records of a preview that :func:`write_delimited` would count."""
    import pyarrow as pa
    import pyarrow.compute as pc

    pattern = f'["\\r\\n]|{re.escape(delimiter)}'
    altered = pa.nulls(batch.num_rows, pa.bool_()).fill_null(False)
    for name in list_checked_fields(schema, delimiter):
        texts = pc.cast(batch.column(name), pa.string())
        matches = pc.match_substring_regex(texts, pattern)
        altered = pc.or_(altered, matches.fill_null(False))
    count = altered.true_count
    if count:
        row = batch.slice(altered.index(True).as_py(), 1).to_pylist()[0]
        texts = ("" if row[name] is None else str(row[name]) for name in schema.field_names)
        context.count_altered(_NOT_QUOTED, delimiter.join(texts), count)


def list_checked_fields(schema: Schema, delimiter: str) -> list[str]:
    """Return the fields whose texts may contain a quote, a line end or the delimiter."""
    if _PLAIN.search(delimiter):
        return schema.field_names
    return [f.name for f in schema if f.schema.non_nullable.type in (Type.STRING, Type.ENUM)]


def _is_special(text: Column, delimiter: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    parts = [F.contains(text, F.lit(part)) for part in (delimiter, '"', "\n", "\r")]
    return functools.reduce(lambda one, other: one | other, parts)


def _quote(text: Column, is_special: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    inside = F.replace(text, F.lit('"'), F.lit('""'))
    return F.when(is_special, F.concat(F.lit('"'), inside, F.lit('"'))).otherwise(text)
