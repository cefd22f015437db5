"""Columns of a DataFrame by the exact name of a field."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def quoted(name: str) -> str:
    """A column name in which dots and backticks mean themselves."""
    return "`" + name.replace("`", "``") + "`"


def column(name: str) -> Column:
    """The column called ``name``, whatever characters the name has."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(quoted(name))
