"""Translation of BigQuery's types, operators and functions that DuckDB interprets differently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .formats import translate_format, translate_time_format
from .sql import SqlError, build_translation_error, describe_position

NUMERIC: Final = "DECIMAL(38, 9)"
"""BigQuery's NUMERIC: 38 digits, 9 of them after the point."""
ROUNDED: Final = "DECIMAL(38, 18)"
"""The type between a fraction and an INT64: decimals are rounded as in BigQuery, halves away from zero."""
_INTEGERS: Final = ("INT", "SMALLINT", "TINYINT", "MEDIUMINT")
"""Types of sqlglot for the other names of INT64."""
_ARITHMETIC: Final = ("Add", "Sub", "Mul", "Div", "Mod", "IntDiv")
_FRACTION_PARENTS: Final = ("Alias", "Array", "PropertyEQ")
_WHOLE_PARENTS: Final = (
    *_FRACTION_PARENTS,
    *(
        "BitwiseAnd",
        "BitwiseLeftShift",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseRightShift",
        "BitwiseXor",
    ),
    *("Case", "Coalesce", "Greatest", "If", "IntDiv", "Least", "Max", "Min", "Mod", "Mul", "Sum"),
)
"""The nodes of sqlglot whose type is that of the literals in them. Not among them: nodes in which a literal
is a position or a limit (Bracket, Limit, Offset, Ordered, Group, Interval, DataTypeParam)."""
_WEEKS: Final = {"WEEK": "%U", "WEEK(SUNDAY)": "%U", "WEEK(MONDAY)": "%W"}
"""Date formats of week numbers; days before the first week are in week 0."""


def translate_expressions(parsed: Any, text: str) -> None:
    """Translate the types, operators and functions of a statement to DuckDB's, in place.

    :param text: the text of the statement, for positions in errors.
    :raises SqlError: for an expression without an equivalent.
    """
    _type_literals(parsed, text)
    # Inner nodes are translated before outer ones.
    for node in reversed(list(parsed.walk())):
        translate = _TRANSLATIONS.get(type(node).__name__)
        if translate is not None:
            translate(node, text)


def translate_type(kind: Any, _: str = "") -> None:
    """Add the precision and scale of BigQuery to a NUMERIC; INT, SMALLINT and their like are INT64."""
    from sqlglot import expressions as exp

    types = (exp.DataType.Type.DECIMAL, exp.DataType.Type.BIGDECIMAL)
    if kind.this in types and not kind.expressions:
        kind.replace(exp.DataType.build(NUMERIC))
    elif kind.this.name in _INTEGERS:
        kind.replace(exp.DataType.build("BIGINT"))


def _type_literals(parsed: Any, text: str) -> None:
    """Give number literals BigQuery's types, INT64 and FLOAT64, where their type decides about the result.

    A literal beside a column or function stays as it is where the other may be a date, to which DuckDB adds
    only an INTEGER, or a NUMERIC, which stays one beside a literal.

    :raises SqlError: for a whole number that INT64 does not hold.
    """
    from sqlglot import expressions as exp

    typed = []
    for literal in parsed.find_all(exp.Literal):
        if literal.is_string:
            continue
        whole, parent = literal.name.isdecimal(), literal.parent
        is_negated = isinstance(parent, exp.Neg)
        if whole and int(literal.name) > 2**63 - (not is_negated):
            if not literal.find_ancestor(exp.Cast, exp.DataType):
                message = f"Invalid integer literal: {literal.name}"
                raise SqlError(
                    f"{message}{describe_position(text, literal)}.",
                    f"Write it as BIGNUMERIC '{literal.name}'.",
                )
            continue
        node = parent if is_negated else literal
        parent = type(node.parent).__name__
        if parent in (_WHOLE_PARENTS if whole else _FRACTION_PARENTS) or (
            parent in _ARITHMETIC and _has_only_literals(node)
        ):
            typed.append((node, "BIGINT" if whole else "DOUBLE"))
    for node, kind in typed:
        node.replace(exp.cast(node.copy(), kind))


def _has_only_literals(node: Any) -> bool:
    """Return whether a calculation that a literal is a part of has no column and no function."""
    from sqlglot import expressions as exp

    while type(node.parent).__name__ in (*_ARITHMETIC, "Mul", "Paren", "Neg"):
        node = node.parent
    return node.find(exp.Column, exp.Func, exp.Subquery, exp.Interval) is None


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
    "Cast": _translate_integer_cast,
    "CurrentDatetime": _translate_current_datetime,
    "DataType": translate_type,
    "DateAdd": _translate_date_function,
    "DateSub": _translate_date_function,
    "DateTrunc": _translate_date_function,
    "Div": _translate_division,
    "Extract": _translate_extract,
    "Format": translate_format,
    "Pad": _translate_digits,
    "Round": _translate_digits,
    "SafeFunc": _translate_safe,
    "StrToTime": _translate_timestamp,
    "TimestampDiff": _translate_difference,
    "TimeToStr": translate_time_format,
    "TryCast": _translate_integer_cast,
    "UnixToTime": _translate_timestamp,
}
"""By class name of sqlglot's nodes, because not every version of sqlglot has all classes."""
