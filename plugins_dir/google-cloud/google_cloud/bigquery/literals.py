"""Number literals of BigQuery's SQL: INT64 and FLOAT64, or NUMERIC beside a NUMERIC."""

from __future__ import annotations

from typing import Any, Final

from .calls import choose_by_type, is_numeric, list_arguments, list_operands
from .sql import SqlError, describe_position

_ARITHMETIC: Final = ("Add", "Sub", "Mul", "Div", "Mod", "IntDiv")
_BITS: Final = ("And", "LeftShift", "Not", "Or", "RightShift", "Xor")
_WHOLE_PARENTS: Final = (
    *("Alias", "Array", "PropertyEQ", "Struct"),
    *(f"Bitwise{name}" for name in (*_BITS, "Count")),
    *("Case", "Coalesce", "Greatest", "If", "IntDiv", "Least", "Max", "Min", "Mod", "Mul", "Sum"),
)
"""The nodes of sqlglot whose type is that of the whole numbers in them. Not among them: nodes in which a
literal is a position or a limit (Bracket, Limit, Offset, Ordered, Group, Interval, DataTypeParam)."""
_SAFE: Final = ("SafeAdd", "SafeDivide", "SafeMultiply", "SafeSubtract")
_SAME_TYPE: Final = (
    *(*_ARITHMETIC, *_SAFE, "Log", "Pow"),
    *("Case", "Coalesce", "If", "Greatest", "Least", "Nullif"),
)
"""The nodes of sqlglot in which a fraction has the type of its neighbours."""
_EXACT_PARENTS: Final = (
    *("EQ", "NEQ", "GT", "GTE", "LT", "LTE", "Between", "In", "NullSafeEQ", "NullSafeNEQ"),
    *("Cast", "TryCast", "DataTypeParam", "Interval", "Limit", "Offset", "Tuple"),
)
"""The nodes of sqlglot in which a fraction can stay a decimal: its value is compared or converted."""


def type_literals(parsed: Any, text: str) -> None:
    """Give number literals BigQuery's types where their type decides about the result, in place.

    A whole number beside a column or function stays as it is where the other may be a date, to which DuckDB
    adds only an INTEGER, or a NUMERIC, which stays one beside a literal.

    :raises SqlError: for a whole number that INT64 does not hold.
    """
    from sqlglot import expressions as exp

    typed: list[tuple[Any, Any]] = []
    for literal in parsed.find_all(exp.Literal):
        if literal.is_string:
            continue
        is_negated = isinstance(literal.parent, exp.Neg)
        node = literal.parent if is_negated else literal
        if not literal.name.isdecimal():
            made = _type_fraction(node)
        elif int(literal.name) > 2**63 - (not is_negated):
            _refuse_large(literal, text)
            continue
        else:
            made = _type_whole(node)
        if made is not None:
            typed.append((node, made))
    for node, made in typed:
        node.replace(made)


def _refuse_large(literal: Any, text: str) -> None:
    from sqlglot import expressions as exp

    if not literal.find_ancestor(exp.Cast, exp.DataType):
        message = f"Invalid integer literal: {literal.name}"
        raise SqlError(
            f"{message}{describe_position(text, literal)}.",
            f"Write it as NUMERIC '{literal.name}'.",
        )


def _type_whole(node: Any) -> Any:
    from sqlglot import expressions as exp

    parent = type(node.parent).__name__
    decides = parent in _WHOLE_PARENTS or (parent in _ARITHMETIC and _has_only_literals(node))
    return exp.cast(node.copy(), "BIGINT") if decides else None


def _type_fraction(node: Any) -> Any:
    """Return a fraction as FLOAT64, or as a NUMERIC where its neighbours are; None when it can stay."""
    from sqlglot import expressions as exp

    literal = node.this if isinstance(node, exp.Neg) else node
    fraction: Any = exp.cast(literal.copy(), "DOUBLE")
    if literal is not node:  # outside, so that -0.0 keeps its sign
        fraction = exp.Neg(this=fraction)
    parent = type(node.parent).__name__
    if parent in _EXACT_PARENTS:
        return None
    if parent not in _SAME_TYPE:
        return fraction
    others = [each for each in _list_neighbours(node) if each is not node]
    neighbours = [operand for each in others for operand in list_operands(each)]
    if not neighbours:
        return fraction
    return choose_by_type(is_numeric(neighbours), node.copy(), fraction)


def _list_neighbours(node: Any) -> list[Any]:
    """Return the values beside a literal that have its type; of a CASE the results of its branches."""
    from sqlglot import expressions as exp

    parent = node.parent
    if isinstance(parent, exp.If) and isinstance(parent.parent, exp.Case):
        parent = parent.parent
    if isinstance(parent, exp.If):
        return [each for key in ("true", "false") if (each := parent.args.get(key)) is not None]
    if not isinstance(parent, exp.Case):
        return list_arguments(parent)
    results = [each.args["true"] for each in parent.args["ifs"]]
    return [*results, *filter(None, [parent.args.get("default")])]


def _has_only_literals(node: Any) -> bool:
    """Return whether a calculation that a literal is a part of has no column and no function."""
    from sqlglot import expressions as exp

    while type(node.parent).__name__ in (*_ARITHMETIC, "Paren", "Neg"):
        node = node.parent
    return node.find(exp.Column, exp.Func, exp.Subquery, exp.Interval) is None
