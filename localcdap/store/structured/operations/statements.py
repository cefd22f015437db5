"""Statements that change single rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from localcdap.store.columns import quoted
from localcdap.store.structured.operations.operation import Work
from localcdap.store.structured.sql import SqlCondition, TableSql


def update_of(
    table: TableSql, fields: list[str], record: dict[str, Any], key: tuple[Any, ...]
) -> SqlCondition:
    return SqlCondition(
        f"UPDATE {table.name} SET {table.assignments(fields)} WHERE {table.has_key}",  # noqa: S608
        (*(record[name] for name in fields), *key),
    )


def insert(
    work: Work, table: TableSql, fields: tuple[str, ...], values: list[Any], *, ignore: bool
) -> bool:
    """Insert a row; whether there was none with its key.

    :param ignore: whether one with its key may be there.
    """
    names = ", ".join(map(quoted, fields))
    parameters = ", ".join(map(table.parameter, fields))
    sql = f"INSERT INTO {table.name} ({names}) VALUES ({parameters})"  # noqa: S608
    if ignore:
        sql += " ON CONFLICT DO NOTHING"
    return changed(work, SqlCondition(sql, tuple(values)))


def changed(work: Work, statement: SqlCondition) -> bool:
    """Run a statement; whether it changed any row."""
    return bool(work.execute(statement.sql, statement.params)[0][0])


def merge(table: TableSql, fields: Iterable[str]) -> str:
    """What becomes of a row that exists already."""
    names = [quoted(name) for name in fields if name not in table.key]
    if not names:
        return "DO NOTHING"
    return "DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in names)
