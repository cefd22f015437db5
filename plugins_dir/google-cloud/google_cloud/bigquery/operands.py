"""Names for operands of nested functions, so that the translation does not repeat them.

What tests the type of an operand repeats its text, which would grow tenfold with each level of nested
functions.
"""

from __future__ import annotations

from typing import Any, Final

from .argument_types import CHOICES, KNOWN_TYPE, find_type
from .refusals import find_signature

_NAME: Final = "googlesql_operand"
_FEWEST: Final = 2
"""The levels of functions in an operand that gets a name."""


def name_operands(parsed: Any, fewest: int = _FEWEST) -> None:
    """Compute operands that contain several levels of functions once, as the parameter of a lambda, in place.

    ``ROUND(ABS(a + b) * c, 2)`` becomes ``list_transform([ABS(a + b) * c], lambda v: ROUND(v, 2))[1]``. An
    operand that is not always evaluated keeps its place.

    :param fewest: the levels of functions in an operand that gets a name.
    """
    levels: dict[int, int] = {}
    for node in reversed(list(parsed.walk())):
        inner = max((levels.get(id(each), 0) for each in node.iter_expressions()), default=0)
        levels[id(node)] = inner + (1 if _is_scalar_function(node) else 0)
        operand = node.args.get("this")
        if levels.get(id(operand), 0) >= fewest and _can_be_named(node, operand):
            levels[id(_name_operand(node, operand))] = (
                fewest  # what is around it must not repeat it
            )


def _is_scalar_function(node: Any) -> bool:
    from sqlglot import expressions as exp

    return find_signature(node) is not None and not isinstance(node, exp.AggFunc)


def _can_be_named(node: Any, operand: Any) -> bool:
    from sqlglot import expressions as exp

    if not _is_scalar_function(node) or type(node).__name__ in CHOICES:
        return False
    if node.find_ancestor(exp.Pivot, exp.SafeFunc) is not None:
        return False
    others = [each for each in node.iter_expressions() if each is not operand]
    return not any(each.find(exp.AggFunc, exp.Window, exp.Subquery) for each in others)


def _name_operand(node: Any, operand: Any) -> Any:
    """Replace a function by a lambda of its first operand; return what takes its place."""
    from sqlglot import expressions as exp

    # Equal expressions, such as those of SELECT and GROUP BY, get equal names.
    depth = sum(1 for each in operand.find_all(exp.Lambda))
    name = f"{_NAME}{depth}"
    parameter = exp.column(name)
    parameter.meta[KNOWN_TYPE] = find_type(operand)
    body = node.copy()
    body.set("this", parameter)
    function = exp.Lambda(this=body, expressions=[exp.to_identifier(name)])
    values = exp.Anonymous(
        this="LIST_TRANSFORM",
        expressions=[exp.Array(expressions=[operand.copy()]), function],
    )
    named = exp.Anonymous(this="LIST_EXTRACT", expressions=[values, exp.Literal.number(1)])
    named.meta[KNOWN_TYPE] = find_type(node)
    node.replace(named)
    return named
