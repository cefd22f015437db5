"""Conditions of BigQuery on the rows of a table that records may be matched with."""

from __future__ import annotations

from typing import Final

from .expressions import take_meaning
from .sql import SqlError, condition, place_in, written

_SIDES: Final = {"": "held", "T": "held", "S": "given"}
"""The two sides of CDAP's MERGE, and those of :class:`localcdap.api.tables.TableWrite`."""


def matching(text: str) -> str:
    """A condition on the rows that a MERGE may match, as ``TableWrite.among`` takes it.

    Columns are those of the table, also as ``T.column``; those of the records are ``S.column``.

    :raises SqlError: when it is none, names another table, or has what DuckDB has not.
    """
    from sqlglot import expressions as exp

    # What is wrapped can be replaced.
    wrapped = exp.Paren(this=condition(text))
    for column in wrapped.find_all(exp.Column):
        side = _SIDES.get(column.table.upper())
        if side is None:
            raise SqlError(
                f"'{column.sql('bigquery')}' is no column of the table{place_in(text, column)}.",
                "Name columns alone, or as T.column.",
            )
        column.set("table", exp.to_identifier(side))
    take_meaning(wrapped, text)
    return written(wrapped.this, "duckdb")


def columns_matched(text: str) -> list[str]:
    """The columns of the table that such a condition names, each once.

    :raises SqlError: as :func:`matching`.
    """
    from sqlglot import expressions as exp

    found = condition(text).find_all(exp.Column)
    return list(dict.fromkeys(each.name for each in found if each.table.upper() in ("", "T")))
