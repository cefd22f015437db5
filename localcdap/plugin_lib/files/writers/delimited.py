"""Delimited text of records (CDAP 6 ``StructuredDelimitedOutputFormat``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import Schema
from localcdap.plugin_lib.spark.columns import get_column
from localcdap.plugin_lib.spark.conversion import to_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ROW_NUMBER: Final = (1 << 33) - 1
"""The bits of ``monotonically_increasing_id`` that count the rows of a partition."""


def write_delimited(
    df: DataFrame, schema: Schema, directory: str, delimiter: str, *, header: bool, quoted: bool
) -> None:
    """Write a line for each record; null is an empty text.

    :param quoted: whether to quote values that contain the delimiter, a quote or a line end.
    """
    from pyspark.sql import functions as F  # noqa: N812

    texts = [to_text(get_column(f.name), f.schema) for f in schema]
    if quoted:
        texts = [_quote(text, delimiter) for text in texts]
    line = F.concat_ws(delimiter, *[F.coalesce(text, F.lit("")) for text in texts])
    if header:
        names = F.lit(delimiter.join(schema.field_names) + "\n")
        # Each partition becomes one file.
        is_first = F.monotonically_increasing_id().bitwiseAND(_ROW_NUMBER) == 0
        line = F.when(is_first, F.concat(names, line)).otherwise(line)
    df.select(line.alias("value")).write.mode("append").text(directory)


def _quote(text: Column, delimiter: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    special = F.contains(text, F.lit(delimiter)) | text.rlike('["\\r\\n]')
    inside = F.replace(text, F.lit('"'), F.lit('""'))
    return F.when(special, F.concat(F.lit('"'), inside, F.lit('"'))).otherwise(text)
