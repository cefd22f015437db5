"""Checks of the values that INSERT, UPDATE and MERGE assign: DuckDB converts those that BigQuery refuses.

A check compares types that DuckDB knows before it runs a statement, so that it costs nothing for the rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from .calls import call, get_type_name
from .casts import LITERALS

_HELD: Final = "googlesql_held"
_GIVEN: Final = "googlesql_given"
_LITERAL: Final = "googlesql_literal"
"""The names of literals begin with this; more literals fit a column than other values of their types."""
_TIMES: Final = {"DATE": "DATE", "DATETIME": "DATETIME", "TIMESTAMP": "TIMESTAMPTZ", "TIME": "TIME"}
"""The types that a STRING literal can have, and their names in sqlglot."""


def check_assignments(parsed: Any, target: Any) -> None:
    """Make a translated statement fail for a value that its column does not take, in place.

    :param target: the table that the statement changes.
    """
    from sqlglot import expressions as exp

    match parsed:
        case exp.Insert():
            columns = parsed.this.expressions if isinstance(parsed.this, exp.Schema) else []
            if isinstance(parsed.expression, exp.Values):
                rows = [each.expressions for each in parsed.expression.expressions]
                _check_values(rows, _get_row_type(target, columns), inserts=True)
            elif isinstance(parsed.expression, exp.Query):
                query = _name_literals(parsed.expression)
                parsed.set("expression", _check_query(query, _get_row_type(target, columns)))
        case exp.Update():
            _check_update(parsed, target)
        case exp.Merge():
            for when in parsed.args["whens"].expressions:
                _check_branch(parsed, when.args["then"], target)


def _check_branch(merge: Any, branch: Any, target: Any) -> None:
    from sqlglot import expressions as exp

    if isinstance(branch, exp.Update):
        _check_update(branch, target)
    elif isinstance(branch, exp.Insert) and isinstance(branch.this, exp.Star):
        source = merge.args["using"]
        alias = source.args.get("alias")
        rows = exp.select("*").from_(source.copy())
        checked = exp.Subquery(this=_check_query(rows, _get_row_type(target, [])))
        checked.set("alias", alias and alias.copy())
        merge.set("using", checked)
    elif isinstance(branch, exp.Insert) and isinstance(branch.expression, exp.Tuple):
        columns = _get_row_type(target, branch.this.expressions if branch.this else [])
        _check_values([branch.expression.expressions], columns, inserts=True)


def _check_update(update: Any, target: Any) -> None:
    from sqlglot import expressions as exp

    assigned = [each for each in update.expressions if isinstance(each.this, exp.Column)]
    if assigned:
        columns = _get_row_type(target, [each.this for each in assigned])
        _check_values([[each.expression for each in assigned]], columns, inserts=False)


def _check_values(rows: Sequence[Sequence[Any]], columns: Any, *, inserts: bool) -> None:
    """Put a check of rows around the first value that is not a DEFAULT."""
    from sqlglot import expressions as exp

    checks = {
        made.sql(dialect="duckdb"): made
        for made in (_build_check(columns, _describe_row(row), inserts=inserts) for row in rows)
    }
    first = next((each for row in rows for each in row if not _is_default(each)), None)
    if first is not None:
        checked = exp.case().when(exp.and_(*checks.values()), first.copy())
        first.replace(checked)


def _check_query(query: Any, columns: Any) -> Any:
    """Return a query with a check of its rows."""
    from sqlglot import expressions as exp

    row = exp.column(_GIVEN)
    rows = exp.Subquery(this=query.copy(), alias=exp.TableAlias(this=exp.to_identifier(_GIVEN)))
    return exp.select("*").from_(rows).where(_build_check(columns, row, inserts=True))


def _build_check(columns: Any, row: Any, *, inserts: bool) -> Any:
    from sqlglot import expressions as exp

    return call("check_assignment", columns, get_type_name(row), exp.Boolean(this=inserts))


def _get_row_type(target: Any, columns: Sequence[Any]) -> Any:
    """Return an expression for the type of a row of some columns of a table, by default all."""
    from sqlglot import expressions as exp

    table = target.copy()
    table.set("alias", None)
    names = [exp.to_identifier(each.name, quoted=True) for each in columns] or [exp.Star()]
    held = exp.select(*names).from_(table).subquery(_HELD)
    return get_type_name(exp.Subquery(this=exp.select(_HELD).from_(held).limit(0)))


def _describe_row(values: Sequence[Any]) -> Any:
    """Return a struct that has the types of values, and names that tell which are literals."""
    from sqlglot import expressions as exp

    members = []
    for number, value in enumerate(values):
        name, shown = f"v{number}", value.copy()
        if _is_default(value):
            shown = exp.Null()
        elif _is_literal(value):
            name, shown = f"{_name_literal(value)}_{number}", _replace_literal(value)
        members.append(exp.PropertyEQ(this=exp.to_identifier(name), expression=shown))
    return exp.Struct(expressions=members)


def _is_default(value: Any) -> bool:
    from sqlglot import expressions as exp

    return isinstance(value, exp.Var) and value.sql().upper() == "DEFAULT"


def _is_literal(value: Any) -> bool:
    """Return whether a value is a literal. That of FLOAT64 in a query has its type already."""
    from sqlglot import expressions as exp

    inner = value
    while isinstance(inner, exp.Neg | exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Cast) and inner.to.this.name == "DOUBLE":
        inner = inner.this
        return isinstance(inner, exp.Literal) and not inner.is_string
    return isinstance(inner, exp.Literal | exp.Array | exp.Struct)


def _name_literal(literal: Any) -> str:
    """Return a name for a literal; that of a STRING has the types that BigQuery reads from its text."""
    if not literal.is_string:
        return _LITERAL
    types = [name for name, key in _TIMES.items() if re.fullmatch(LITERALS[key], literal.name)]
    return "_".join((_LITERAL, "STRING", *types))


def _replace_literal(value: Any) -> Any:
    """Return a value of the type of a literal, the same one for all literals of the type."""
    from sqlglot import expressions as exp

    if isinstance(value, exp.Array | exp.Struct):
        return value.copy()
    literal = next(value.find_all(exp.Literal))
    if literal.is_string:
        return exp.Literal.string("")
    return exp.cast(exp.Literal.number(0), "BIGINT" if literal.name.isdecimal() else "DOUBLE")


def _name_literals(query: Any) -> Any:
    """Return a query in which names tell the columns that are literals, unless clauses may use the names."""
    from sqlglot import expressions as exp

    named = query.copy()
    if not isinstance(named, exp.Select):
        return named
    clauses = [named.args.get(each) for each in ("group", "having", "order", "qualify")]
    used = {column.name for each in clauses if each for column in each.find_all(exp.Column)}
    for column in list(named.expressions):
        value = column.this if isinstance(column, exp.Alias) else column
        if _is_literal(value) and column.alias not in used:
            column.replace(exp.alias_(value.copy(), _name_literal(value)))
    return named
