"""Checks of the types of arguments: a function has its translation only for the types of its signature.

The type of a literal, or of a function's result, is known from the text. That of a column is known to DuckDB
before it runs a statement, and is checked there, so that it costs nothing for the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from .calls import call, choose_by_type, get_type_name
from .casts import LITERALS
from .refusals import find_signature, get_function_name
from .signatures import ANY, EXTRACTED, NUMBER, TIME_UNITS, TYPES, Signature
from .sql import SqlError, describe_position

_NOT_VALUES: Final = "."
_NULL: Final = "null"
_CASTS: Final = {
    **dict.fromkeys(("BIGINT", "INT", "SMALLINT", "TINYINT", "MEDIUMINT"), "I"),
    **dict.fromkeys(("DOUBLE", "FLOAT"), "F"),
    **dict.fromkeys(("TEXT", "VARCHAR"), "S"),
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB"), "B"),
    "DECIMAL": "N",
    "BOOLEAN": "O",
    "DATE": "D",
    "DATETIME": "M",
    "TIMESTAMP": "M",
    "TIMESTAMPTZ": "P",
    "TIME": "C",
    "JSON": "J",
    "STRUCT": "R",
}
"""The letters of types by their names in sqlglot."""
_ALIASES: Final = frozenset(
    ("AtTimeZone", "Distinct", "HavingMax", "IgnoreNulls", "Limit", "Order", "RespectNulls")
)
"""The nodes around a value that is aggregated."""
_SAME: Final = frozenset((*_ALIASES, "Alias", "Neg", "Paren", "SafeFunc", "Window"))
"""The nodes that have the type of what is in them."""
_LETTERS: Final = {
    **dict.fromkeys(("And", "Or", "Not", "Is", "In", "Like", "Between", "Exists", "Boolean"), "O"),
    **dict.fromkeys(("EQ", "NEQ", "GT", "GTE", "LT", "LTE", "NullSafeEQ", "NullSafeNEQ"), "O"),
    "ByteString": "B",
    "Interval": "V",
    "Null": _NULL,
    "ParseJSON": "J",
    "RawString": "S",
}
"""The letters of the types of operators and literals."""
_ALONE: Final = frozenset("OBJ")
"""The letters of types to which no others convert."""
_ELEMENTS: Final = {"S": "L", "I": "H"}
"""The letters of arrays by those of their elements."""
_TIMES: Final = frozenset("DMPC")
_GIVEN: Final = "v"
_SIGNS: Final = {
    "And": "AND",
    "BitwiseAnd": "&",
    "BitwiseLeftShift": "<<",
    "BitwiseNot": "~",
    "BitwiseOr": "|",
    "BitwiseRightShift": ">>",
    "BitwiseXor": "^",
    "DPipe": "||",
    "Extract": "EXTRACT",
    "Having": "HAVING",
    "If": "CASE WHEN",
    "Is": "IS",
    "Join": "ON",
    "Like": "LIKE",
    "Not": "NOT",
    "Or": "OR",
    "Qualify": "QUALIFY",
    "Where": "WHERE",
    "Window": "PARTITION BY",
}
"""The signs and words of operators and clauses by the classes of their nodes."""
_COMPARISONS: Final = {
    "Between": "BETWEEN",
    "EQ": "=",
    "GT": ">",
    "GTE": ">=",
    "In": "IN",
    "LT": "<",
    "LTE": "<=",
    "NEQ": "!=",
    "NullSafeEQ": "IS NOT DISTINCT FROM",
    "NullSafeNEQ": "IS DISTINCT FROM",
}
"""The signs and words of comparisons by the classes of their nodes."""
_COMPARED_KEYS: Final = ("expression", "low", "high")
_COMPARED: Final = ("IFN", "DM", "LHA")
"""The letters of types that can be compared with one another."""
CHOICES: Final = frozenset(("Case", "Coalesce", "Greatest", "If", "Least", "Nullif"))
"""The functions that choose a value from several."""
KNOWN_TYPE: Final = "googlesql_type"
"""The mark of a node that takes the place of another one: the letter of its type."""
_BOTH: Final = ("this", "expression")
_OPERANDS: Final = {
    **dict.fromkeys(("And", "Or"), dict.fromkeys(_BOTH, "O")),
    **{name: {"this": "O"} for name in ("Not", "Where", "Having", "Qualify", "If")},
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), dict.fromkeys(_BOTH, "I")),
    **dict.fromkeys(("BitwiseLeftShift", "BitwiseRightShift"), dict.fromkeys(_BOTH, "I")),
    "BitwiseNot": {"this": "I"},
    "DPipe": dict.fromkeys(_BOTH, "SBA"),
    "Join": {"on": "O"},
    "Like": dict.fromkeys(_BOTH, "S"),
    "Window": {"partition_by": "SBINODMPCV"},
}
"""The types of operands."""


def check_argument_types(parsed: Any, text: str) -> None:
    """Check the arguments of all functions of a statement, in place.

    :raises SqlError: for the first that has a type without a translation.
    """
    from sqlglot import expressions as exp

    # Inner functions are checked before those around them.
    for node in reversed(list(parsed.walk())):
        for key, types in _list_operands(node).items():
            _check_argument(node, node.args.get(key), types, text)
        if type(node).__name__ in _COMPARISONS:
            _check_comparison(node, text)
        if type(node).__name__ in CHOICES:
            _check_choice(node, text)
        if isinstance(node, exp.SetOperation):
            _check_columns(node, text)
        signature = find_signature(node)
        for key, argument in signature.arguments.items() if signature is not None else ():
            if argument.types not in (ANY, _NOT_VALUES):
                found = node.args.get(key, node.args.get(f"{key}_"))
                _check_argument(node, found, _narrow(node, argument.types), text)


def _narrow(function: Any, types: str) -> str:
    """Return the types of an argument beside a unit: a DATE, or a STRING for it, has no hours."""
    unit = function.args.get("unit")
    has_dates = _name_node(function).startswith("DATE_") and "D" in types
    if has_dates and unit is not None and str(unit.name).upper() in TIME_UNITS:
        return types.replace("D", "").replace("S", "")
    return types


def _check_argument(node: Any, argument: Any, types: str, text: str) -> None:
    for value in argument if isinstance(argument, list) else [argument]:
        for each in _list_values(value):
            _check_value(node, each, types, text)


def _check_comparison(node: Any, text: str) -> None:
    """Check that two values that are compared have types that BigQuery compares."""
    from sqlglot import expressions as exp

    name = type(node).__name__
    others = node.expressions if name == "In" else [node.args.get(each) for each in _COMPARED_KEYS]
    is_assigned = isinstance(node.parent, exp.Update | exp.When) and name == "EQ"
    if is_assigned or node.find_ancestor(exp.Pivot):
        return
    found = _list_checks(node, [node.this, *others], _COMPARISONS[name], text)
    keys = list(dict.fromkeys(key for _, key in found))
    if keys:
        node.replace(
            exp.paren(exp.and_(*(extract_member(exp.true(), key) for key in keys), node.copy()))
        )


def _check_columns(operation: Any, text: str) -> None:
    """Check that the columns of two queries have types that BigQuery converts to one, if the text tells."""
    from sqlglot import expressions as exp

    columns = [operation.left.selects, operation.right.selects]
    if any(each.is_star for side in columns for each in side):
        return
    name = type(operation).__name__.upper()
    for sides in zip(*columns, strict=False):
        values = [each.this if isinstance(each, exp.Alias) else each for each in sides]
        _list_checks(operation, values, name, text)


def _check_choice(node: Any, text: str) -> None:
    """Check that the values from which a function chooses have types that BigQuery converts to one."""
    from sqlglot import expressions as exp

    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    if isinstance(around, exp.Case | exp.If | exp.Coalesce) or node.find_ancestor(exp.Pivot):
        return  # checked with what is around it
    values = list(_list_choices(node))
    for value, key in _list_checks(node, values, _name_node(node) or "CASE", text):
        value.replace(extract_member(value, key))


def _list_choices(node: Any) -> Iterator[Any]:
    """Yield the values of CASE, IF, COALESCE and their like, and of those in them."""
    from sqlglot import expressions as exp

    match node:
        case exp.Case():
            results = [each.args["true"] for each in node.args["ifs"]]
            results.append(node.args.get("default"))
        case exp.If():
            results = [node.args["true"], node.args.get("false")]
        case exp.Coalesce() | exp.Nullif() | exp.Greatest() | exp.Least():
            results = [node.this, *node.expressions, node.args.get("expression")]
        case exp.Paren():
            results = [node.this]
        case _:
            yield node
            return
    for each in results:
        if each is not None:
            yield from _list_choices(each)


def _list_checks(node: Any, values: Sequence[Any], name: str, text: str) -> list[tuple[Any, Any]]:
    """Return values whose types only DuckDB knows, each with the call that checks its type.

    :raises SqlError: for types that the text tells.
    """
    from sqlglot import expressions as exp

    skipped = exp.Tuple | exp.Struct | exp.Subquery | exp.Star
    known = [
        each
        for each in values
        if isinstance(each, exp.Expression) and not isinstance(each, skipped)
    ]
    sides = [(each, _find_compared_type(each)) for each in known]
    told = [each for each in sides if each[1] and not isinstance(each[0], exp.Null)]
    untold = [each for each in sides if not each[1]]
    first: tuple[Any, str] = (*told, *untold, (None, ""))[0]
    for value, types in told[1:]:
        if {*types}.isdisjoint(first[1]):
            raise SqlError(
                f"'{name}' of {_describe_type(first[0])} and {_describe_type(value)} "
                f"is not translated{describe_position(text, node)}.",
                "Convert one of them with CAST.",
            )
    return [(each[0], _build_check(name, first, each)) for each in untold if each[0] != first[0]]


def _build_check(name: str, first: tuple[Any, str], other: tuple[Any, str]) -> Any:
    types = [get_type_name(value) for value, known in (first, other) if not known]
    if len(types) == 1:
        wanted = ", ".join(TYPES[each] for each in first[1])
        return call("check_type", types[0], _write(wanted), _write(name))
    return call("check_compared", *types, _write(name))


def _find_compared_type(value: Any) -> str:
    """Return the letters of the types that a value can be compared with; empty if they are not known."""
    found = find_type(value)
    if found == _NULL:
        return "".join(TYPES)
    found = _widen(found, "IFN")
    more = next((each for each in _COMPARED if found and found in each), found)
    return f"{more}{''.join(sorted(_TIMES))}" if found == "S" and value.is_string else more


def _list_operands(node: Any) -> Mapping[str, str]:
    """Return the names of operands with the letters of their types."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.If) and (
        not isinstance(node.parent, exp.Case) or node.parent.this is not None
    ):
        return {}  # the function IF, or CASE x WHEN 1
    if isinstance(node, exp.Extract):
        part = node.this.sql(dialect="bigquery").upper().partition("(")[0]
        return {"expression": EXTRACTED[part]}
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):
        return {"this": "O"}
    return _OPERANDS.get(type(node).__name__, {})


def find_type(node: Any) -> str:
    """Return the letter of a value's type as far as the text tells it, otherwise an empty text."""
    known: str | None = node.meta.get(KNOWN_TYPE) if node is not None else None
    if known is not None:
        return known
    name = type(node).__name__
    if _name_node(node) == "ERROR":
        return _NULL  # it has no value
    if name in CHOICES:
        return _find_common_type(list(_list_choices(node)))
    if name == "DPipe" or _is_joined(node):
        return _find_joined_type(node)
    signature = find_signature(node)
    if signature is not None:
        return _find_result_type(node, signature)
    if name in _SAME:
        inner = node.this if node.this is not None else next(iter(node.expressions), None)
        return find_type(inner)
    if name == "Literal":
        return "S" if node.is_string else "I" if node.name.isdecimal() else "F"
    find = _FINDERS.get(name)
    return _LETTERS.get(name, "") if find is None else find(node)


def _find_result_type(node: Any, signature: Signature) -> str:
    if signature.result != "this":
        return signature.result.replace(ANY, "")
    first = next((each for key in signature.arguments if (each := node.args.get(key))), None)
    return find_type(first[0] if isinstance(first, list) else first) if first else ""


def _find_cast_type(kind: Any) -> str:
    if kind.this.name == "ARRAY" and kind.expressions:
        return _ELEMENTS.get(_find_cast_type(kind.expressions[0]), "A")
    return _CASTS.get(kind.this.name, "")


def _find_array_type(array: Any) -> str:
    from sqlglot import expressions as exp

    elements = array.expressions
    if any(isinstance(each, exp.Query) for each in elements):
        return "A"
    types = {find_type(each) for each in elements} - {_NULL}
    return _ELEMENTS.get(next(iter(types)), "A") if len(types) == 1 and "" not in types else "A"


def _find_query_type(query: Any) -> str:
    from sqlglot import expressions as exp

    select = query.this if isinstance(query, exp.Subquery) else query
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        return ""
    return "R" if select.args.get("kind") else find_type(select.expressions[0])


def _find_common_type(values: Sequence[Any]) -> str:
    """Return the type of values of which one is chosen, when all have the same.

    Some types have no others that convert to them, so that one value tells the type of all.
    """
    types = {find_type(each) for each in values} - {_NULL}
    if len(types) == 1:
        return next(iter(types))
    if any(find_type(each) == "S" and not _is_coerced(each) for each in values):
        return "S"
    return next((each for each in types if each and each in _ALONE), "")


def _find_joined_type(node: Any) -> str:
    """Return the type of texts that are joined, when the type of one tells it."""
    values = node.expressions or [node.this, node.expression]
    types = {find_type(each) for each in values}
    return next((each for each in ("S", "B", "A", "L", "H") if each in types), "")


def _is_coerced(value: Any) -> bool:
    """Return whether a STRING is a literal that can be converted to a DATE or time."""
    return bool(value.is_string) and any(
        re.fullmatch(pattern, value.name) for pattern in LITERALS.values()
    )


def _list_values(value: Any) -> Iterator[Any]:
    """Yield the values in an argument, without DISTINCT, ORDER BY and their like around them."""
    from sqlglot import expressions as exp

    name = type(value).__name__
    if not isinstance(value, exp.Expression) or isinstance(value, exp.Star):
        return
    if isinstance(value, exp.Distinct):
        for each in value.expressions:
            yield from _list_values(each)
    elif (
        name in _ALIASES or name.startswith("TsOrDsTo") or isinstance(value, exp.Paren | exp.Alias)
    ):
        yield from _list_values(value.this)
    elif isinstance(value, exp.Subquery) and isinstance(value.this, exp.Select):
        if len(value.this.expressions) == 1 and not value.this.args.get("kind"):
            yield from _list_values(value.this.expressions[0])
    elif not isinstance(value, exp.Subquery | exp.Tuple):
        yield value


def _check_value(node: Any, value: Any, types: str, text: str) -> None:
    """Check a value of a function or operator.

    :raises SqlError: when the text tells that it has another type.
    """
    found = _widen(find_type(value), types)
    if not found or (found == "A" and "A" not in types and not {*types}.isdisjoint("LH")):
        wanted = ", ".join(TYPES[each] for each in types)
        checked = call("check_type", get_type_name(value), _write(wanted), _write(_name_node(node)))
        known = extract_member(value, checked)
        _replace(value, _convert_to_text(known, found) if _is_joined(node) else known)
        return
    is_known = found == _NULL or found in types or (found in "LH" and "A" in types)
    # A literal STRING is coerced to a DATE or time.
    is_coerced = found == "S" and not _TIMES.isdisjoint(types) and value.is_string
    is_coerced = is_coerced and _name_node(node) != "STRING"
    is_amount = value.is_string and "unit" in node.args  # sqlglot writes INTERVAL 1 DAY so
    if not (is_known or is_coerced or is_amount):
        raise SqlError(
            f"'{_name_node(node)}' of {TYPES[found]} is not translated"
            f"{describe_position(text, node)}.",
            f"Convert the value to {' or '.join(TYPES[each] for each in types)}.",
        )
    if _is_joined(node):
        value.replace(_convert_to_text(value, found))


def check_operand(node: Any, value: Any, types: str, sign: str, text: str) -> None:
    """Check an operand of a calculation, in place.

    :param types: the letters of the types that it can have.
    :raises SqlError: when the text tells that it has another type.
    """
    from sqlglot import expressions as exp

    found = _widen(find_type(value), types)
    if not found and not isinstance(value, exp.Subquery):
        wanted = ", ".join(TYPES[each] for each in types)
        key = call("check_type", get_type_name(value), _write(wanted), _write(sign))
        value.replace(extract_member(value, key))
    elif found and found != _NULL and found not in types and not value.is_string:
        raise SqlError(
            f"'{sign}' of {TYPES[found]} is not translated{describe_position(text, node)}.",
            f"Convert the value to {' or '.join(TYPES[each] for each in types)}.",
        )


def _describe_type(value: Any) -> str:
    return TYPES[_widen(find_type(value), "IFN")]


def _widen(found: str, types: str) -> str:
    """Return the letter of a number as one of the types that are taken, if all numbers are."""
    if found != NUMBER:
        return found
    return "F" if {*"IFN"} <= {*types} else ""


def _is_joined(node: Any) -> bool:
    """Return whether a function joins values of all types to a text."""
    return _name_node(node) == "CONCAT"


def _convert_to_text(value: Any, found: str) -> Any:
    """Return a value as a STRING, unless it is BYTES."""
    if found in ("S", "B", _NULL):
        return value
    text = call("string", value)
    if found not in ("", NUMBER):
        return text
    is_bytes = _call_duckdb("CONTAINS", [get_type_name(value), _write("BLOB")])
    return choose_by_type(is_bytes, value, text)


def _replace(value: Any, checked: Any) -> None:
    """Replace a value, also where an aggregate of distinct values is ordered by it."""
    from sqlglot import expressions as exp

    order = value.find_ancestor(exp.Order)
    if value.find_ancestor(exp.Distinct) is not None and order is not None:
        for each in order.expressions:
            if each.this == value:
                each.this.replace(checked.copy())
    value.replace(checked)


def _name_node(node: Any) -> str:
    """Return the name of a function, or the sign or word of an operator."""
    is_function = type(node).__name__ == "If" and type(node.parent).__name__ != "Case"
    sign = None if is_function else _SIGNS.get(type(node).__name__)
    return sign or get_function_name(node)


def _write(text: str) -> Any:
    from sqlglot import expressions as exp

    return exp.Literal.string(text)


def _call_duckdb(name: str, arguments: list[Any]) -> Any:
    from sqlglot import expressions as exp

    return exp.Anonymous(this=name, expressions=[each.copy() for each in arguments])


def extract_member(value: Any, key: Any) -> Any:
    """Return a value as a member of a struct, whose name DuckDB calculates before it runs a statement."""
    from sqlglot import expressions as exp

    member = exp.PropertyEQ(this=exp.to_identifier(_GIVEN), expression=value.copy())
    struct = exp.Struct(expressions=[member])
    return _call_duckdb("STRUCT_EXTRACT", [struct, key])


_FINDERS: Final[dict[str, Callable[[Any], str]]] = {
    "Array": _find_array_type,
    "Cast": lambda node: _find_cast_type(node.to),
    "Select": _find_query_type,
    "Subquery": _find_query_type,
    "TryCast": lambda node: _find_cast_type(node.to),
}
