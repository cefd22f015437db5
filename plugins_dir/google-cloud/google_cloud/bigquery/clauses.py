"""Clauses of BigQuery's statements that DuckDB writes in another way, or counts otherwise."""

from __future__ import annotations

from typing import Any


def take_clauses(parsed: Any) -> None:
    """Write the clauses of a statement as DuckDB has them."""
    from sqlglot import expressions as exp

    if isinstance(parsed, exp.Create):
        _copy(parsed)
    for node in list(parsed.walk()):
        match node:
            case exp.Insert() if node.this == exp.var("ROW"):
                node.set("this", exp.Star())
            case exp.Update():
                for assigned in node.expressions:
                    # Only columns of the table that is changed stand there.
                    if isinstance(assigned.this, exp.Column):
                        assigned.this.set("table", None)
            case exp.Unnest() if isinstance(node.args.get("offset"), exp.Identifier):
                _count_from_zero(node.find_ancestor(exp.Select), node.args["offset"].name)


def _copy(create: Any) -> None:
    """LIKE, COPY and CLONE as the query that gives the rows; leave out what has no effect here."""
    from sqlglot import expressions as exp

    like, clone = create.find(exp.LikeProperty), create.args.get("clone")
    if like is not None or clone is not None:
        query = exp.select("*").from_((like or clone).this.copy())
        create.set("expression", query.limit(0) if like is not None else query)
        create.set("clone", None)
    create.set("properties", None)


def _count_from_zero(select: Any, offset: str) -> None:
    """Offsets of elements begin with 0 in BigQuery, their ordinalities with 1."""
    from sqlglot import expressions as exp

    for column in list(select.find_all(exp.Column)) if select is not None else ():
        if column.name != offset or column.table:
            continue
        number = exp.paren(exp.Sub(this=column.copy(), expression=exp.Literal.number(1)))
        shown = column.parent is select and column.arg_key == "expressions"
        column.replace(exp.alias_(number, offset) if shown else number)
