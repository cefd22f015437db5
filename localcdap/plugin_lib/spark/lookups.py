"""Tables of the instance in which plugins look values up by a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import SparkContext
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY: Final = "key"
VALUE: Final = "value"


def read_key_values(context: SparkContext, table: str) -> DataFrame:
    """The rows of a table, as columns ``key`` and ``value`` of the types that they have there.

    Those are its columns of these names, or the two that it has.

    :raises NotFoundError: when there is no such table.
    :raises StageError: when the table has other columns.
    """
    rows = context.read_table(table)
    names = [KEY, VALUE] if {KEY, VALUE} <= set(rows.columns) else rows.columns
    if len(names) != 2:
        raise context.fail(
            f"table '{table}' has no keys and values; its columns are: {', '.join(names)}.",
            "Use a table with the columns 'key' and 'value', or with two columns.",
        )
    return rows.select(
        *[get_column(n).alias(to) for n, to in zip(names, (KEY, VALUE), strict=True)]
    )
