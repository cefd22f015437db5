"""Calculations whose results their types do not hold, and NaN, for which DuckDB has other rules.

A FLOAT64 that overflows fails in BigQuery and is an infinity in DuckDB; a DATE after 9999 fails. NaN is the
smallest value of an ORDER BY, is the MIN of values that have one, and is in no list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .argument_types import check_operand, extract_member, find_type
from .calls import call, choose_by_type, get_type_name
from .signatures import NUMBER
from .sql import SqlError, describe_position

_ARITHMETIC: Final = ("Add", "Sub", "Mul", "Div")
_WHOLE: Final = frozenset("IN")
_PARENTS: Final = (*_ARITHMETIC, "Neg", "Paren")
_NEVER_NAN: Final = frozenset("SBINODMPCJVARLH")
_RESULT: Final = "googlesql_result"
_MODIFIERS: Final = ("Filter", "IgnoreNulls", "RespectNulls", "Window")


def check_ranges(parsed: Any, text: str) -> None:
    """Make calculations fail whose results are too large, and treat NaN as BigQuery does, in place.

    :raises SqlError: for a difference of two DATEs, which is an INTERVAL in BigQuery and a number in DuckDB.
    """
    from sqlglot import expressions as exp

    for node in reversed(list(parsed.walk())):
        if type(node).__name__ in _ARITHMETIC:
            _check_calculation(node, text)
        elif isinstance(node, exp.In):
            _exclude_nan(node)
        elif isinstance(node, exp.Min):
            _find_smallest(node)
        elif isinstance(node, exp.Order):
            _sort_nan(node)
        elif isinstance(node, exp.Join):
            _join_without_nan(node)


def _check_calculation(node: Any, text: str) -> None:
    """Check the result of a whole calculation, not of its parts."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Add | exp.Sub):
        _check_times(node, text)
    if type(node.parent).__name__ in _PARENTS and node.find_ancestor(exp.Pivot) is None:
        return
    leaves = list(_list_leaves(node))
    types = {find_type(each) for each in leaves}
    has_division = node.find(exp.Div) is not None
    is_whole = types <= _WHOLE and not (has_division and "N" not in types)
    if is_whole or node.find(exp.Subquery) is not None or node.find_ancestor(exp.Pivot):
        return
    if any(each.name == _RESULT for each in node.find_all(exp.Anonymous)):
        return  # its parts are checked, and each check repeats them
    literal = exp.Literal | exp.Interval
    unknown = [
        each
        for each in leaves
        if find_type(each) in ("", "F", NUMBER) and not isinstance(each, literal)
    ]
    finite = [call("is_finite", each) for each in unknown]
    node.replace(call("result", node, exp.and_(*finite) if finite else exp.true()))


def _check_times(node: Any, text: str) -> None:
    """Refuse sums of times that BigQuery does not have, and differences that are INTERVALs there."""
    from sqlglot import expressions as exp

    sign = "+" if isinstance(node, exp.Add) else "-"
    sides = [node.this, node.expression]
    if any(type(each).__name__ in _PARENTS for each in sides):
        return  # a part of a longer calculation, each of whose checks would repeat those of its parts
    types = [find_type(each) for each in sides]
    interval = next((each for each in sides if isinstance(each, exp.Interval)), None)
    if interval is not None:
        taken = "DMV" if _has_months(interval) else "DMPV"
        other = sides[0] if sides[1] is interval else sides[1]
        check_operand(node, other, taken, sign, text)
    elif sign == "-" and types == ["D", "D"]:
        raise SqlError(
            f"'-' of DATE and DATE is not translated{describe_position(text, node)}.",
            "Use DATE_DIFF.",
        )
    elif sign == "-" and set(types) == {"D", ""}:
        check_operand(node, sides[types.index("")], "IV" if types[0] else "DMPC", sign, text)
    elif sign == "-" and types == ["", ""] and node.find_ancestor(exp.Pivot) is None:
        names = map(get_type_name, sides)
        key = call("check_difference", *names)
        node.this.replace(extract_member(node.this, key))


def _has_months(interval: Any) -> bool:
    unit = interval.args.get("unit")
    name = unit.sql(dialect="bigquery").upper() if unit is not None else ""
    return any(part in name for part in ("MONTH", "QUARTER", "YEAR"))


def _list_leaves(node: Any) -> Iterator[Any]:
    """Yield what a calculation is made of: columns, functions, literals."""
    if type(node).__name__ in _PARENTS:
        for key in ("this", "expression"):
            if node.args.get(key) is not None:
                yield from _list_leaves(node.args[key])
    else:
        yield node


def _exclude_nan(node: Any) -> None:
    from sqlglot import expressions as exp

    value = node.this
    if find_type(value) in _NEVER_NAN or isinstance(value, exp.Tuple | exp.Struct | exp.Identifier):
        return
    if node.find_ancestor(exp.Pivot) is None:
        node.replace(exp.paren(exp.and_(node.copy(), exp.not_(call("is_nan", value)))))


def _find_smallest(node: Any) -> None:
    """Return NaN for the MIN of values that have one: it is their MAX in DuckDB."""
    from sqlglot import expressions as exp

    if find_type(node.this) in _NEVER_NAN or node.find_ancestor(exp.Pivot):
        return
    whole = node
    while type(whole.parent).__name__ in _MODIFIERS and whole.arg_key == "this":
        whole = whole.parent
    smallest, largest = whole.copy(), whole.copy()
    found = largest.find(exp.Min) if largest is not node else largest
    if isinstance(largest, exp.Min):
        largest = exp.Max(this=largest.this.copy())
    else:
        found.replace(exp.Max(this=found.this.copy()))
    is_double = exp.EQ(this=get_type_name(smallest), expression=exp.Literal.string("DOUBLE"))
    value = exp.case().when(call("is_nan", largest), largest.copy()).else_(smallest.copy())
    whole.replace(choose_by_type(is_double, value, smallest))


def _sort_nan(order: Any) -> None:
    """Put NaN before all numbers."""
    from sqlglot import expressions as exp

    parent = order.parent
    if isinstance(order.this, exp.Distinct):
        _sort_distinct(order)
        return
    if _is_range_of_values(parent):
        return  # one number is needed, and the ranges of NaN are those of BigQuery
    ordered = []
    for each in order.expressions:
        value = _find_shown(each.this, parent)
        if find_type(value) not in _NEVER_NAN and not isinstance(value, exp.Literal):
            first = each.copy()
            first.set("this", call("is_no_nan", value))
            ordered.append(first)
        ordered.append(each.copy())
    order.set("expressions", ordered)


def _is_range_of_values(window: Any) -> bool:
    """Return whether the frame of a window ends at values, as in RANGE BETWEEN 1 PRECEDING AND …"""
    from sqlglot import expressions as exp

    spec = window.args.get("spec") if isinstance(window, exp.Window) else None
    if spec is None or spec.args.get("kind") != "RANGE":
        return False
    return any(isinstance(spec.args.get(end), exp.Expression) for end in ("start", "end"))


def _find_shown(value: Any, parent: Any) -> Any:
    """Return the column of a result that a name or number in its ORDER BY means, by its place."""
    from sqlglot import expressions as exp

    first = parent
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not isinstance(first, exp.Select):
        return value
    shown = list(first.expressions)
    if isinstance(value, exp.Literal):
        place = int(value.name) if value.is_int else 0
    elif isinstance(value, exp.Column) and not value.table:
        names = [each.alias for each in shown]
        place = names.index(value.name) + 1 if value.name in names else 0
    else:
        return value
    has_star = any(each.is_star for each in shown[:place])
    if not 1 <= place <= len(shown) or has_star:
        return value
    if find_type(shown[place - 1].unalias()) in _NEVER_NAN:
        return exp.Literal.number(place)
    return exp.PositionalColumn(this=exp.Literal.number(place))


def _sort_distinct(order: Any) -> None:
    """Sort the elements of ARRAY_AGG with DISTINCT, which DuckDB sorts by nothing else than themselves."""
    from sqlglot import expressions as exp

    aggregate = order.find_ancestor(exp.ArrayAgg)
    if aggregate is None or find_type(order.this.expressions[0]) in _NEVER_NAN:
        return
    whole, limit = aggregate, order.parent
    while type(whole.parent).__name__ in _MODIFIERS and whole.arg_key == "this":
        whole = whole.parent
    sorted_list = whole.copy()
    if isinstance(limit, exp.Limit):
        inner = sorted_list.find(exp.Limit)
        inner.replace(inner.this.copy())
    is_last = exp.true() if order.expressions[0].args.get("desc") else exp.false()
    sorted_list = call("place_nan", sorted_list, is_last)
    if isinstance(limit, exp.Limit):
        arguments = [sorted_list, exp.Literal.number(1), limit.expression.copy()]
        sorted_list = exp.Anonymous(this="LIST_SLICE", expressions=arguments)
    whole.replace(sorted_list)


def _join_without_nan(join: Any) -> None:
    """Leave out rows of a JOIN with USING whose NaN would meet one: it is equal to nothing in BigQuery.

    A FULL JOIN is left as it is.
    """
    from sqlglot import expressions as exp

    names, side = join.args.get("using"), join.side
    select = join.parent
    if not names or side == "FULL" or not isinstance(select, exp.Select):
        return
    relation = join.this
    if side == "RIGHT":
        source = select.args.get("from_") or select.args.get("from")
        if len(select.args["joins"]) > 1 or source is None:
            return
        relation = source.this
    if isinstance(relation, exp.Unnest):
        return
    name = relation.alias_or_name
    alias = exp.TableAlias(this=exp.to_identifier(name)) if name else None
    kept = relation.copy()
    conditions = [call("is_no_nan", exp.column(each.copy())) for each in names]
    rows = exp.select("*").from_(kept).where(exp.and_(*conditions))
    relation.replace(exp.Subquery(this=rows, alias=alias))
