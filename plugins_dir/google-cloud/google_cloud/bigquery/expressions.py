"""Translation of BigQuery's types, operators and functions that DuckDB interprets differently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .formats import translate_format, translate_time_format
from .sql import build_translation_error

NUMERIC: Final = "DECIMAL(38, 9)"
"""BigQuery's NUMERIC: 38 digits, 9 of them after the point."""
ROUNDED: Final = "DECIMAL(38, 18)"
"""The type between a fraction and an INT64: decimals are rounded as in BigQuery, halves away from zero."""
_WEEKS: Final = {"WEEK": "%U", "WEEK(SUNDAY)": "%U", "WEEK(MONDAY)": "%W"}
"""Date formats of week numbers; days before the first week are in week 0."""


def translate_expressions(parsed: Any, text: str) -> None:
    """Translate the types, operators and functions of a statement to DuckDB's, in place.

    :param text: the text of the statement, for positions in errors.
    :raises SqlError: for an expression without an equivalent.
    """
    # Inner nodes are translated before outer ones.
    for node in reversed(list(parsed.walk())):
        translate = _TRANSLATIONS.get(type(node).__name__)
        if translate is not None:
            translate(node, text)


def translate_numeric(kind: Any, _: str = "") -> None:
    """Add the precision and scale of BigQuery to a NUMERIC."""
    from sqlglot import expressions as exp

    types = (exp.DataType.Type.DECIMAL, exp.DataType.Type.BIGDECIMAL)
    if kind.this in types and not kind.expressions:
        kind.replace(exp.DataType.build(NUMERIC))


def _translate_arithmetic(node: Any, _: str) -> None:
    """Compute with 64 bits: DuckDB takes whole numbers of a text for 32 bits when they fit."""
    if all(_is_whole(operand) for operand in (node.this, node.expression)):
        node.set("this", _to_int64(node.this))


def _is_whole(node: Any) -> bool:
    """Return whether an operand consists of whole numbers of the text."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Literal):
        return bool(node.is_int)
    if isinstance(node, exp.Cast):
        return node.to.this is exp.DataType.Type.BIGINT
    is_computed = isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Neg | exp.Paren)
    return is_computed and all(map(_is_whole, node.iter_expressions()))


def _to_int64(node: Any) -> Any:
    from sqlglot import expressions as exp

    is_literal = isinstance(node, exp.Literal) and node.is_int
    return exp.cast(node.copy(), "BIGINT") if is_literal else node


def _translate_choice(node: Any, _: str) -> None:
    """Make whole numbers of the text that a condition chooses INT64."""
    for key in ("this", "true", "false", "default"):
        value = node.args.get(key)
        # The text that CASE compares, and the condition of an IF, are no results.
        if value is not None and not (key == "this" and type(node).__name__ in ("Case", "If")):
            node.set(key, _to_int64(value))
    if type(node).__name__ in ("Array", "Coalesce", "Greatest", "Least"):
        node.set("expressions", [_to_int64(part) for part in node.expressions])


def _translate_digits(node: Any, _: str) -> None:
    """Give functions of DuckDB the numbers of 32 bits that they want."""
    from sqlglot import expressions as exp

    for key in ("decimals", "expression"):
        value = node.args.get(key)
        if value is not None and not isinstance(value, exp.Literal):
            node.set(key, exp.cast(value.copy(), "INT", dialect="duckdb"))


def _translate_division(node: Any, _: str) -> None:
    """Make a division by zero fail, which is an infinity in DuckDB."""
    from sqlglot import expressions as exp

    divisor = node.expression
    if isinstance(divisor, exp.Literal) and float(divisor.name) != 0:
        return
    failed = exp.func("ERROR", exp.Literal.string("division by zero"))
    zero = exp.EQ(this=divisor.copy(), expression=exp.Literal.number(0))
    node.set("expression", exp.case().when(zero, failed).else_(divisor.copy()))


def _translate_integer_cast(cast: Any, _: str) -> None:
    from sqlglot import expressions as exp

    if cast.to.this is exp.DataType.Type.BIGINT and not isinstance(cast.this, exp.Literal):
        cast.set("this", type(cast)(this=cast.this.copy(), to=exp.DataType.build(ROUNDED)))


def _translate_date_function(node: Any, _: str) -> None:
    """Return a date for a date and a datetime for a datetime; a text is a date."""
    from sqlglot import expressions as exp

    like = exp.cast(node.this.copy(), "DATE") if node.this.is_string else node.this.copy()
    node.replace(exp.func("CAST_TO_TYPE", node.copy(), like))


def _translate_difference(node: Any, _: str) -> None:
    """Count the whole units between two timestamps, not the unit boundaries."""
    from sqlglot import expressions as exp

    unit = exp.Literal.string(node.args["unit"].name)
    node.replace(exp.func("DATESUB", unit, node.expression.copy(), node.this.copy()))


def _translate_timestamp(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    node.replace(exp.cast(node.copy(), "TIMESTAMPTZ"))


def _translate_current_datetime(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    zone = node.this.copy() if node.this else exp.Literal.string("UTC")
    node.replace(exp.AtTimeZone(this=exp.CurrentTimestamp(), zone=zone))


def _translate_extract(node: Any, text: str) -> None:
    from sqlglot import expressions as exp

    part, value = node.this.sql(dialect="bigquery").upper(), node.expression.copy()
    if part in ("DATE", "TIME"):
        node.replace(exp.cast(value, part))
    elif part == "DAYOFWEEK":
        # Sunday is 1 in BigQuery and 0 in DuckDB.
        node.replace(exp.paren(exp.Add(this=node.copy(), expression=exp.Literal.number(1))))
    elif part == "ISOWEEK":
        node.set("this", exp.var("WEEK"))
    elif part in _WEEKS:
        number = exp.func("STRFTIME", value, exp.Literal.string(_WEEKS[part]))
        node.replace(exp.cast(number, "BIGINT"))
    elif part.startswith("WEEK"):
        raise build_translation_error(node, text, "Use WEEK, WEEK(MONDAY) or ISOWEEK.")


def _translate_safe(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    node.replace(exp.Anonymous(this="TRY", expressions=[node.this.copy()]))


_TRANSLATIONS: Final[dict[str, Callable[[Any, str], None]]] = {
    "Add": _translate_arithmetic,
    "Array": _translate_choice,
    "Case": _translate_choice,
    "Cast": _translate_integer_cast,
    "Coalesce": _translate_choice,
    "CurrentDatetime": _translate_current_datetime,
    "DataType": translate_numeric,
    "DateAdd": _translate_date_function,
    "DateSub": _translate_date_function,
    "DateTrunc": _translate_date_function,
    "Div": _translate_division,
    "Extract": _translate_extract,
    "Format": translate_format,
    "Greatest": _translate_choice,
    "If": _translate_choice,
    "Least": _translate_choice,
    "Mul": _translate_arithmetic,
    "Pad": _translate_digits,
    "Round": _translate_digits,
    "SafeFunc": _translate_safe,
    "StrToTime": _translate_timestamp,
    "Sub": _translate_arithmetic,
    "TimestampDiff": _translate_difference,
    "TimeToStr": translate_time_format,
    "TryCast": _translate_integer_cast,
    "UnixToTime": _translate_timestamp,
}
"""By class name of sqlglot's nodes, because not every version of sqlglot has all classes."""
