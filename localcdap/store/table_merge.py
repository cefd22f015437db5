"""Writing rows over existing rows with the same key fields, in tables without a key (MERGE INTO).

The condition that restricts which rows match comes from a pipeline. It is checked with DuckDB's parser
before it becomes part of a statement on the instance's tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from localcdap.api.errors import StoreError
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_identifier
from localcdap.api.tables import TableWrite
from localcdap.store.store import Transaction

_TAKEN: Final = frozenset(
    (
        "BETWEEN",
        "CASE",
        "CAST",
        "COLUMN_REF",
        "COMPARISON",
        "CONJUNCTION",
        "CONSTANT",
        "FUNCTION",
        "OPERATOR",
        "TYPE",
    )
)
"""The classes of expressions (in the words of DuckDB's parser) that read only the columns of a row."""
_EMPTY: Final = ("modifiers", "group_expressions", "group_sets", "having", "sample", "qualify")
"""The parts of a query that must be empty when the text is only a condition."""


def check_condition(tx: Transaction, text: str) -> str:
    """Return a condition in parentheses.

    :raises StoreError: when it is not a condition, or uses anything but columns of the row.
    """
    # The line break ends a comment at the end of the condition.
    condition = f"({text}\n)"
    answer = tx.execute("SELECT json_serialize_sql(?)", (f"SELECT 1 WHERE {condition}",))[0][0]
    found = json.loads(answer)
    if found["error"]:
        raise _make_condition_error(text, f"is not a condition: {found['error_message']}")
    nodes = [statement["node"] for statement in found["statements"]]
    if len(nodes) != 1 or nodes[0]["type"] != "SELECT_NODE" or any(map(nodes[0].get, _EMPTY)):
        raise _make_condition_error(text, "is more than a condition")
    more = sorted(set(_find_classes(nodes[0]["where_clause"])) - _TAKEN)
    if more:
        raise _make_condition_error(text, f"has a {more[0].lower()}")
    return condition


def _find_classes(part: Any) -> Iterator[str]:
    """Find the classes of all expressions in a part of DuckDB's syntax tree."""
    if isinstance(part, list):
        for each in part:
            yield from _find_classes(each)
    elif isinstance(part, dict):
        if "class" in part:
            yield part["class"]
        for each in part.values():
            yield from _find_classes(each)


def _make_condition_error(text: str, why: str) -> StoreError:
    return StoreError(
        f"The condition '{text}' {why}.", "Compare columns of the table with values and each other."
    )


def merge(tx: Transaction, table: str, schema: Schema, source: str, how: TableWrite) -> int:
    """Update the rows that have equal keys; for an upsert, insert the rows that match no row.

    Columns that the written rows lack stay as they are, and are null in new rows.

    :param table: an SQL identifier.
    :param schema: of the rows to write.
    :param source: the rows to write, as an expression of a FROM clause.
    :returns: the number of rows changed or added.
    :raises StoreError: when several of the rows to write have equal keys and ``dedupe_by`` is empty, or when
        the condition is wrong.
    """
    keys = [quote_identifier(key) for key in how.keys]
    rows = _deduplicate(source, keys, how) if how.dedupe_by else source
    if not how.dedupe_by:
        _refuse_repeated(tx, table, source, keys)
    columns = [quote_identifier(name) for name in schema.field_names]
    rest = [column for column in columns if column not in keys] or columns[:1]
    matched = " AND ".join(f"held.{key} = given.{key}" for key in keys)
    if how.among is not None:
        tx.define_functions(how.among)
        matched = f"{check_condition(tx, how.among)} AND {matched}"
    assigned = ", ".join(f"{column} = given.{column}" for column in rest)
    made = ", ".join(f"given.{column}" for column in columns)
    inserts = f"WHEN NOT MATCHED THEN INSERT ({', '.join(columns)}) VALUES ({made})"  # noqa: S608
    changed = tx.execute(
        f"MERGE INTO {table} AS held USING (FROM {rows}) AS given ON ({matched}) "
        f"WHEN MATCHED THEN UPDATE SET {assigned} {inserts if how.operation == 'upsert' else ''}"
    )
    count: int = changed[0][0]
    return count


def _deduplicate(source: str, keys: list[str], how: TableWrite) -> str:
    """Return SQL for one row of each combination of keys; it keeps all rows with a null key."""
    order = ", ".join(
        f"{quote_identifier(each.field)} {'DESC' if each.descending else 'ASC'} NULLS LAST"
        for each in how.dedupe_by
    )
    is_whole = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    place = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {order})"
    return f"(FROM {source} QUALIFY NOT ({is_whole}) OR {place} = 1)"


def _refuse_repeated(tx: Transaction, table: str, source: str, keys: list[str]) -> None:
    is_whole = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    repeated = tx.execute(
        f"SELECT {', '.join(keys)}, count(*) FROM {source} WHERE {is_whole} "  # noqa: S608
        f"GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
    )
    if repeated:
        *values, count = repeated[0]
        shown = ", ".join(f"{key} = {value!r}" for key, value in zip(keys, values, strict=True))
        raise StoreError(
            f"{count} of the rows to write into table {table} have the same key: {shown}.",
            "Set 'dedupeBy' to choose one of them, or write each key once.",
        )
