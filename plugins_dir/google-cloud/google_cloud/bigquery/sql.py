"""Parsing of BigQuery's SQL, and formatting in the SQL of another database, with sqlglot."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any, Final

_BIGQUERY: Final = "bigquery"
_WHERE: Final = re.compile(r"\A(\s*)WHERE\b", re.IGNORECASE)
INGESTION_TIMES: Final = ("_PARTITIONTIME", "_PARTITIONDATE")


class SqlError(ValueError):
    """SQL that cannot be parsed or translated.

    :param message: what is wrong, and where.
    :param action: what to do.
    """

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.message = message
        self.action = action


def parse_condition(text: str) -> Any:
    """Parse a condition into a tree of sqlglot.

    :raises SqlError: for a text that is not a condition, and for a condition on ingestion times.
    """
    from sqlglot import expressions as exp

    # CDAP removes a leading WHERE. The blanks keep the positions of the rest.
    parsed = _parse(_WHERE.sub(r"\1     ", text))
    if isinstance(parsed, exp.Query | exp.DDL | exp.DML | exp.Command):
        raise SqlError(
            f"'{text}' is a statement, not a condition.", "Write only the condition after WHERE."
        )
    reject_ingestion_times(parsed, text)
    return parsed


def reject_ingestion_times(parsed: Any, text: str) -> None:
    """Raise an error for BigQuery's pseudo columns of the ingestion time, except in a PARTITION BY.

    :raises SqlError: for ``_PARTITIONTIME`` and ``_PARTITIONDATE``.
    """
    from sqlglot import expressions as exp

    for column in parsed.find_all(exp.Column):
        parts_table = column.find_ancestor(exp.PartitionedByProperty) is not None
        if column.name.upper() in INGESTION_TIMES and not parts_table:
            raise SqlError(
                f"There is no '{column.name}' here: ingestion times are not stored"
                f"{describe_position(text, column)}.",
                "Write a condition on a column of the table.",
            )


def parse_statements(text: str) -> list[Any]:
    """Parse the statements of a text into trees of sqlglot.

    :raises SqlError: when the text is not SQL of BigQuery.
    """
    from sqlglot import errors, parse

    try:
        return list(parse(text, dialect=_BIGQUERY))
    except errors.SqlglotError as error:
        raise _build_parse_error(error) from None


def describe_position(text: str, node: Any) -> str:
    """Return the position of a node as a part of a message; empty if it is not known."""
    from sqlglot import expressions as exp

    known = [each.meta for each in (node, *node.find_all(exp.Identifier)) if "start" in each.meta]
    if not known:
        return ""
    return format_position(text, min(meta["start"] for meta in known))


def format_position(text: str, start: int) -> str:
    """Return an index of a text as a part of a message."""
    line = text.count("\n", 0, start) + 1
    return f" (line {line}, column {start - text.rfind(chr(10), 0, start)})"


@functools.lru_cache(maxsize=4)
def tokenize(text: str) -> Sequence[Any]:
    """Return the tokens of a text."""
    from sqlglot.dialects.dialect import Dialect

    return tuple(Dialect.get_or_raise(_BIGQUERY).tokenize(text))


def find_argument(text: str, start: int | None, wanted: int) -> str | None:
    """Return the text of an argument of a call; None if it is not a literal.

    :param start: where the call begins.
    :param wanted: the number of the argument, from 0. ``$`` is the text of a missing one.
    """
    tokens = tokenize(text)
    at = next((at for at, token in enumerate(tokens) if token.start == start), None)
    depth, number = 0, -1
    for place in range(at + 1, len(tokens)) if at is not None else ():
        kind = tokens[place].token_type.name
        depth += (kind in ("L_PAREN", "L_BRACKET")) - (kind in ("R_PAREN", "R_BRACKET"))
        if depth == 0:
            return "$"
        number += depth == 1 and kind in ("COMMA", "L_PAREN")
        if number == wanted:
            found, after = tokens[place + 1], tokens[place + 2].token_type.name
            is_text = found.token_type.name in ("STRING", "RAW_STRING")
            return str(found.text) if is_text and after in ("COMMA", "R_PAREN") else None
    return None


def list_starts(text: str) -> list[int]:
    """Return where each of the statements begins."""
    starts, is_first = [], True
    for token in tokenize(text):
        if token.token_type.name == "SEMICOLON":
            is_first = True
        elif is_first:
            starts.append(token.start)
            is_first = False
    return starts


def build_translation_error(node: Any, text: str, action: str) -> SqlError:
    """Return the error to raise for an expression that cannot be translated."""
    shown = _remove_checks(node).sql(dialect=_BIGQUERY)
    return SqlError(f"'{shown}' is not translated{describe_position(text, node)}.", action)


def _remove_checks(node: Any) -> Any:
    """Return a copy of a node without the checks of types, which have the value as a member of a struct."""
    from sqlglot import expressions as exp

    wrapped = exp.Paren(this=node.copy())
    for each in list(wrapped.find_all(exp.Anonymous)):
        if each.name == "STRUCT_EXTRACT" and isinstance(each.expressions[0], exp.Struct):
            each.replace(each.expressions[0].expressions[0].expression)
    return wrapped.this


def _parse(text: str) -> Any:
    from sqlglot import errors, parse_one

    try:
        return parse_one(text, dialect=_BIGQUERY)
    except errors.SqlglotError as error:
        raise _build_parse_error(error) from None


def format_sql(parsed: Any, dialect: str) -> str:
    """Format a tree in the SQL of another database.

    :raises SqlError: for an expression that the other database does not support.
    """
    from sqlglot import ErrorLevel, errors

    try:
        return str(parsed.sql(dialect=dialect, unsupported_level=ErrorLevel.RAISE))
    except errors.UnsupportedError as error:
        raise SqlError(
            f"This SQL cannot be translated: {error}.", "Write it in another way."
        ) from None


def _build_parse_error(error: Exception) -> SqlError:
    return SqlError(
        f"This is not SQL of BigQuery: {_describe_parse_error(error)}.", "Correct the SQL."
    )


def _describe_parse_error(error: Any) -> str:
    found = getattr(error, "errors", None)
    if not found:
        return str(error).splitlines()[0].rstrip(".")
    first = found[0]
    return f"{first['description']} (line {first['line']}, column {first['col']})"
