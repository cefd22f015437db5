"""Conditions of others that become a part of a statement on the instance's tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from localcdap.api.errors import StoreError
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
"""Classes of expressions that see no more than the columns of a row, as DuckDB's parser calls them."""
_EMPTY: Final = ("modifiers", "group_expressions", "group_sets", "having", "sample", "qualify")
"""Parts of a query that a condition must not bring along."""


def checked_condition(tx: Transaction, text: str) -> str:
    """A condition in parentheses.

    :raises StoreError: when it is none, or names anything but columns of the rows that it is about.
    """
    # A comment at its end must not reach what comes behind.
    condition = f"({text}\n)"
    answer = tx.execute("SELECT json_serialize_sql(?)", (f"SELECT 1 WHERE {condition}",))[0][0]
    found = json.loads(answer)
    if found["error"]:
        raise _refused(text, f"is no condition: {found['error_message']}")
    nodes = [statement["node"] for statement in found["statements"]]
    if len(nodes) != 1 or nodes[0]["type"] != "SELECT_NODE" or any(map(nodes[0].get, _EMPTY)):
        raise _refused(text, "is more than a condition")
    more = sorted(set(_classes(nodes[0]["where_clause"])) - _TAKEN)
    if more:
        raise _refused(text, f"has a {more[0].lower()}")
    return condition


def _classes(part: Any) -> Iterator[str]:
    """The classes of the expressions in a part of DuckDB's syntax tree."""
    if isinstance(part, list):
        for each in part:
            yield from _classes(each)
    elif isinstance(part, dict):
        if "class" in part:
            yield part["class"]
        for each in part.values():
            yield from _classes(each)


def _refused(text: str, why: str) -> StoreError:
    return StoreError(
        f"The condition '{text}' {why}.", "Compare columns of the table with values and each other."
    )
