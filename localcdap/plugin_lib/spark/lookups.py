"""Key-value tables of the namespace, in which plugins look up values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from localcdap.api import SparkContext
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY: Final = "key"
VALUE: Final = "value"


def list_key_values(columns: Sequence[str]) -> Sequence[str]:
    """Return the columns with the keys and the values of a table; all columns where these are not known."""
    return [KEY, VALUE] if {KEY, VALUE} <= set(columns) else columns


def read_key_values(context: SparkContext, table: str) -> DataFrame:
    """Read the rows of a table as the columns ``key`` and ``value``, with the types of the table.

    They are the columns of these names or, in a table with two columns, the first and the second one.

    :raises NotFoundError: when the table does not exist.
    :raises StageError: when the table has other columns.
    """
    rows = context.read_table(table)
    names = list_key_values(rows.columns)
    if len(names) != 2:
        raise context.fail(
            f"table '{table}' has no keys and values; its columns are: {', '.join(names)}.",
            "Use a table with the columns 'key' and 'value', or with two columns.",
        )
    return rows.select(
        *[get_column(n).alias(to) for n, to in zip(names, (KEY, VALUE), strict=True)]
    )
