"""Calls of the functions of GoogleSQL that the DuckDB of a statement has, and choices by type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

_PREFIX: Final = "googlesql_"
_ARITHMETIC: Final = ("Add", "Sub", "Mul", "Div", "Mod", "IntDiv", "Neg", "Paren")


def call(name: str, *arguments: Any) -> Any:
    """Return the call of a function; its name here has no prefix."""
    from sqlglot import expressions as exp

    return exp.Anonymous(this=_PREFIX + name, expressions=[each.copy() for each in arguments])


def list_arguments(node: Any) -> list[Any]:
    """Return the arguments of a function of sqlglot, in their order; missing ones are left out."""
    found: list[Any] = []
    for key in node.arg_types:
        value = node.args.get(key)
        if isinstance(value, list):
            found += value
        elif value is not None and not isinstance(value, bool | int):
            found.append(value)
    return found


def list_operands(node: Any) -> list[Any]:
    """Return the parts of a calculation that decide about its type, each once: all but number literals."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Literal | exp.Null):
        return []
    if type(node).__name__ not in _ARITHMETIC:
        return [node]
    found = [each for part in list_arguments(node) for each in list_operands(part)]
    return list(dict.fromkeys(found))


def choose_by_type(test: Any, chosen: Any, other: Any) -> Any:
    """Return one of two expressions, by a test of types that DuckDB knows before the statement runs.

    Unlike a CASE, the result has the type of the chosen one. Both are evaluated, so none may fail on types
    of the other.
    """
    from sqlglot import expressions as exp

    members = [
        exp.PropertyEQ(this=exp.to_identifier(name), expression=value.copy())
        for name, value in (("a", chosen), ("b", other))
    ]
    key = exp.func("IF", test.copy(), exp.Literal.string("a"), exp.Literal.string("b"))
    return exp.Anonymous(this="STRUCT_EXTRACT", expressions=[exp.Struct(expressions=members), key])


def is_numeric(operands: Sequence[Any]) -> Any:
    """Return a test whether a sum of operands is a NUMERIC."""
    from sqlglot import expressions as exp

    total = operands[0].copy()
    for each in operands[1:]:
        total = exp.Add(this=total, expression=each.copy())
    return exp.Anonymous(
        this="CONTAINS", expressions=[get_type_name(total), exp.Literal.string("DECIMAL")]
    )


def get_type_name(value: Any) -> Any:
    """Return an expression for the name of a value's type in DuckDB."""
    from sqlglot import expressions as exp

    return exp.Anonymous(this="TYPEOF", expressions=[value.copy()])
