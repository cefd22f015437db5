"""Columns of Spark Connect as Spark SQL.

A column is a message of Spark Connect's protocol (``expressions.proto``); what a native directive can make of
these has a text here, anything else is refused.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import Column

_INFIX: Final = {
    **{each: each for each in ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "&", "|", "^")},
    "==": "=",
    "<=>": "<=>",
    "and": "AND",
    "or": "OR",
    "rlike": "RLIKE",
    "like": "LIKE",
}
_POSTFIX: Final = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
_PREFIX: Final = {"not": "NOT", "!": "NOT", "negative": "-", "~": "~"}
_NAME: Final = re.compile(r"\w+")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_CASTS: Final = {2: "CAST", 3: "TRY_CAST"}
"""By the evaluation mode of the protocol: ``EVAL_MODE_ANSI`` and ``EVAL_MODE_TRY``."""
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class NoSqlError(Exception):
    """A column has no text in SQL; the text says what of it."""


def quote_text(text: str) -> str:
    """Return a text as a literal of Spark SQL, in which all that cannot be seen is escaped."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{''.join(map(_escape, escaped))}'"


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"


def render_column(column: Column) -> tuple[str, str | None]:
    """Return the SQL of a column, and its alias.

    :raises NoSqlError: when there is none.
    """
    message: Any = column.to_plan(None)
    if message.WhichOneof("expr_type") == "alias":
        return _render(message.alias.expr), message.alias.name[0]
    return _render(message), None


def _render(message: Any) -> str:
    kind = message.WhichOneof("expr_type")
    render = _RENDERERS.get(kind)
    if render is None:
        raise NoSqlError(f"an expression of Spark ({kind}) has no text in SQL")
    return render(getattr(message, kind))


def _render_attribute(message: Any) -> str:
    name: str = message.unparsed_identifier
    return name


def _render_function(message: Any) -> str:
    name = message.function_name
    arguments = [_render(each) for each in message.arguments]
    key = name.lower()
    if key in _INFIX and len(arguments) == 2:
        return f"({arguments[0]} {_INFIX[key]} {arguments[1]})"
    if key in _POSTFIX:
        return f"({arguments[0]} {_POSTFIX[key]})"
    if key in _PREFIX and len(arguments) == 1:
        return f"({_PREFIX[key]} {arguments[0]})"
    if key == "when":
        return _render_case(arguments)
    if key == "in":
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    if key == "struct":
        return _render_struct(message.arguments)
    if not _NAME.fullmatch(name):
        raise NoSqlError(f"the operator '{name}' of Spark has no text in SQL")
    distinct = "DISTINCT " if message.is_distinct else ""
    return f"{name}({distinct}{', '.join(arguments)})"


def _render_case(arguments: Sequence[str]) -> str:
    pairs = zip(arguments[::2], arguments[1::2], strict=False)
    branches = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    other = f" ELSE {arguments[-1]}" if len(arguments) % 2 else ""
    return f"CASE {branches}{other} END"


def _render_struct(members: Sequence[Any]) -> str:
    parts = []
    for each in members:
        if each.WhichOneof("expr_type") == "alias":
            parts += [quote_text(each.alias.name[0]), _render(each.alias.expr)]
        else:
            parts += [quote_text(_render(each).strip("`")), _render(each)]
    return f"named_struct({', '.join(parts)})"


def _render_cast(message: Any) -> str:
    if message.WhichOneof("cast_to_type") != "type_str":
        raise NoSqlError("the type of a cast has no name")
    word = _CASTS.get(message.eval_mode, "CAST")
    return f"{word}({_render(message.expr)} AS {message.type_str})"


def _render_lambda(message: Any) -> str:
    names = [".".join(each.name_parts) for each in message.arguments]
    given = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{given} -> {_render(message.function)}"


def _render_member(message: Any) -> str:
    child, found = _render(message.child), message.extraction
    is_literal = found.WhichOneof("expr_type") == "literal"
    if is_literal and _PLAIN_NAME.fullmatch(found.literal.string):
        return f"{child}.{found.literal.string}"
    return f"{child}[{_render(found)}]"


def _render_literal(message: Any) -> str:
    kind = message.WhichOneof("literal_type")
    value = getattr(message, kind)
    render = _LITERALS.get(kind)
    if render is None:
        raise NoSqlError(f"a value of Spark ({kind}) has no text in SQL")
    return render(value)


def _render_real(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return f"CAST('{value}' AS DOUBLE)"
    return f"{value!r}D"


def _render_decimal(value: Any) -> str:
    return f"CAST('{value.value}' AS DECIMAL({value.precision or 38}, {value.scale}))"


def _render_moment(micros: int, kind: str) -> str:
    moment = (_EPOCH + datetime.timedelta(microseconds=micros)).replace(tzinfo=None)
    return f"{kind} '{moment.isoformat(sep=' ')}'"


def _render_array(value: Any) -> str:
    return f"array({', '.join(map(_render_literal, value.elements))})"


def _render_specialized(value: Any) -> str:
    kind = value.WhichOneof("value_type")
    found = getattr(value, kind).values
    return f"array({', '.join(quote_text(v) if kind == 'strings' else str(v) for v in found)})"


_LITERALS: Final[dict[str, Callable[[Any], str]]] = {
    "null": lambda _: "NULL",
    "boolean": lambda value: "TRUE" if value else "FALSE",
    "byte": lambda value: f"{value}Y",
    "short": lambda value: f"{value}S",
    "integer": str,
    "long": lambda value: f"{value}L" if value != -(2**63) else "(-9223372036854775807L - 1L)",
    "float": _render_real,
    "double": _render_real,
    "decimal": _render_decimal,
    "string": quote_text,
    "binary": lambda value: f"X'{value.hex()}'",
    "date": lambda value: f"date_from_unix_date({value})",
    "timestamp": lambda value: _render_moment(value, "TIMESTAMP_LTZ"),
    "timestamp_ntz": lambda value: _render_moment(value, "TIMESTAMP_NTZ"),
    "array": _render_array,
    "specialized_array": _render_specialized,
}
_RENDERERS: Final[dict[str | None, Callable[[Any], str]]] = {
    "unresolved_attribute": _render_attribute,
    "unresolved_function": _render_function,
    "expression_string": lambda message: f"({message.expression})",
    "literal": _render_literal,
    "cast": _render_cast,
    "alias": lambda message: _render(message.expr),
    "lambda_function": _render_lambda,
    "unresolved_named_lambda_variable": lambda message: ".".join(message.name_parts),
    "unresolved_extract_value": _render_member,
}
