"""Parts of SQL statements with their parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple


class SqlCondition(NamedTuple):
    """A part of an SQL statement, mostly a condition on rows, with its parameters."""

    sql: str
    params: tuple[Any, ...] = ()


ALL: Final = SqlCondition("true")
NONE: Final = SqlCondition("false")


def match_any(conditions: Iterable[SqlCondition]) -> SqlCondition:
    """Combine conditions with OR."""
    parts = [c for c in conditions if c != NONE]
    if ALL in parts:
        return ALL
    return _combine(parts, " OR ") if parts else NONE


def match_all(conditions: Iterable[SqlCondition]) -> SqlCondition:
    """Combine conditions with AND."""
    parts = [c for c in conditions if c != ALL]
    if NONE in parts:
        return NONE
    return _combine(parts, " AND ") if parts else ALL


def negate(condition: SqlCondition) -> SqlCondition:
    """Return SQL that is true for all rows for which a condition is false or null."""
    if condition == ALL:
        return NONE
    if condition == NONE:
        return ALL
    return SqlCondition(f"({condition.sql}) IS NOT TRUE", condition.params)


def _combine(conditions: Sequence[SqlCondition], word: str) -> SqlCondition:
    if len(conditions) == 1:
        return conditions[0]
    sql = word.join(f"({c.sql})" for c in conditions)
    return SqlCondition(sql, tuple(p for c in conditions for p in c.params))


@lru_cache(maxsize=1024)
def build_comparison(
    names: Sequence[str], parameters: Sequence[str], operator: str, inclusive: bool
) -> tuple[str, tuple[int, ...]]:
    """Return SQL that compares columns with parameters as tuples, and the index of each parameter's value.

    DuckDB's own comparison of tuples treats null as the largest value; here a null matches no comparison.

    :param names: the quoted names of the columns.
    :param operator: ``=``, ``<`` or ``>``.
    :param inclusive: whether ``<`` and ``>`` match equal tuples too.
    """
    if operator == "=":
        pairs = zip(names, parameters, strict=True)
        return " AND ".join(f"{n} = {p}" for n, p in pairs), tuple(range(len(names)))
    last = len(names) - 1
    sql = f"{names[last]} {operator}{'=' if inclusive else ''} {parameters[last]}"
    indexes: tuple[int, ...] = (last,)
    for index in reversed(range(last)):
        name, parameter = names[index], parameters[index]
        # DuckDB can skip whole blocks of rows because of the first comparison.
        sql = (
            f"{name} {operator}= {parameter} AND "
            f"({name} {operator} {parameter} OR {name} = {parameter} AND ({sql}))"
        )
        indexes = (index, index, index, *indexes)
    return sql, indexes
