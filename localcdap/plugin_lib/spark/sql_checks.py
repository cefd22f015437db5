"""Checks a condition in Spark's SQL before a run: its columns, its functions, whether it can be parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.schema import Type
from localcdap.plugin_lib.spark.function_names import CONSTANTS, FUNCTIONS, SYNTAX
from localcdap.plugin_lib.suggestions import suggest_name
from localcdap.text import nearest_name

_DIALECT: Final = "spark"


class SqlProblem(msgspec.Struct, frozen=True):
    """A reason why Spark refuses a condition."""

    message: str
    corrective_action: str | None
    is_warning: bool = False
    """Whether Spark may take the condition nevertheless."""


def find_sql_problems(text: str, schema: Schema | None) -> list[SqlProblem]:
    """Return what is wrong with a condition, each problem once.

    A text that sqlglot cannot parse is a warning: its grammar is not exactly that of Spark.

    :param schema: the schema of the input; None if it is unknown, and columns are not checked.
    """
    try:
        import sqlglot
    except ImportError:
        reason = "The SQL condition is not checked before a run: sqlglot is not installed."
        return [SqlProblem(reason, "Run: pip install 'localcdap[bigquery]'", is_warning=True)]
    try:
        parsed = sqlglot.parse_one(text, read=_DIALECT)
        functions = list(_list_functions(text))
    except sqlglot.errors.SqlglotError as error:
        return [_report_syntax(error)]
    found = [*_check_functions(functions), *_check_columns(parsed, schema)]
    return list(dict.fromkeys(found))


def _report_syntax(error: Any) -> SqlProblem:
    details = getattr(error, "errors", None) or [{}]
    place = "".join(f", {key} {details[0][key]}" for key in ("line", "col") if key in details[0])
    reason = details[0].get("description") or str(error)
    return SqlProblem(
        f"The condition seems not to be valid SQL{place}: {reason.rstrip('.')}.",
        "Correct it unless Spark is known to take it.",
        is_warning=True,
    )


def _list_functions(text: str) -> Iterator[str]:
    """Yield the names of the functions that a text calls, as it spells them."""
    from sqlglot.dialects.dialect import Dialect

    tokens = Dialect.get_or_raise(_DIALECT).tokenize(text)
    for index, (name, after) in enumerate(pairwise(tokens)):
        is_call = (name.token_type.name, after.token_type.name) == ("VAR", "L_PAREN")
        is_qualified = index > 0 and tokens[index - 1].token_type.name == "DOT"
        if is_call and not is_qualified:
            yield name.text


def _check_functions(names: Iterable[str]) -> Iterator[SqlProblem]:
    for name in names:
        if name.lower() not in FUNCTIONS | SYNTAX:
            near = nearest_name(name.lower(), FUNCTIONS)
            hint = f"Did you mean '{near}'?" if near else "Use a function of Spark SQL."
            yield SqlProblem(f"Spark has no function '{name}'.", hint)


def _check_columns(parsed: Any, schema: Schema | None) -> Iterator[SqlProblem]:
    """Find missing columns, also those of records. Columns of subqueries are not known."""
    from sqlglot import expressions as exp

    if schema is None or parsed.find(exp.Query) is not None:
        return
    for column in parsed.find_all(exp.Column):
        if isinstance(column.this, exp.Star):
            continue
        first, *members = (part.name for part in column.parts)
        found = schema.field(first)
        if found is not None:
            yield from _check_members(found.schema, first, members)
        elif members or first.lower() not in CONSTANTS:
            yield SqlProblem(
                f"There is no column '{first}'.", suggest_name(first, schema.field_names)
            )


def _check_members(schema: Schema, name: str, members: list[str]) -> Iterator[SqlProblem]:
    record = schema.non_nullable
    if not members or record.type is not Type.RECORD:
        return
    found = record.field(members[0])
    if found is not None:
        yield from _check_members(found.schema, f"{name}.{members[0]}", members[1:])
        return
    hint = suggest_name(members[0], record.field_names)
    yield SqlProblem(f"The record '{name}' has no field '{members[0]}'.", hint)
