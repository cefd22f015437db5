"""Translation of BigQuery's types, operators and functions that DuckDB interprets differently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .argument_types import check_argument_types
from .arithmetic import ARITHMETIC
from .calls import call
from .casts import CASTS, NUMERIC
from .formats import translate_format, translate_time_format
from .functions import FUNCTIONS
from .literals import type_literals
from .operands import name_operands
from .ranges import check_ranges
from .sql import build_translation_error

_INTEGERS: Final = ("INT", "SMALLINT", "TINYINT", "MEDIUMINT")
"""Types of sqlglot for the other names of INT64."""
_WEEKS: Final = {"WEEK": "%U", "WEEK(SUNDAY)": "%U", "WEEK(MONDAY)": "%W"}
"""Date formats of week numbers; days before the first week are in week 0."""


_FRACTIONS: Final = {"MILLISECOND": 1000, "MICROSECOND": 1_000_000}
"""Parts of a second as the largest number and one; DuckDB's have the seconds too."""


def translate_expressions(parsed: Any, text: str) -> None:
    """Translate the types, operators and functions of a statement to DuckDB's, in place.

    :param text: the text of the statement, for positions in errors.
    :raises SqlError: for an expression without an equivalent.
    """
    name_operands(parsed)
    check_argument_types(parsed, text)
    check_ranges(parsed, text)
    type_literals(parsed, text)
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


def _translate_date_function(node: Any, _: str) -> None:
    """Return a date for a date and a datetime for a datetime; a text is a date."""
    from sqlglot import expressions as exp

    like = exp.cast(node.this.copy(), "DATE") if node.this.is_string else node.this.copy()
    made = exp.func("CAST_TO_TYPE", node.copy(), like)
    node.replace(made if isinstance(node, exp.DateTrunc) else call("check_year", made))


def _translate_addition(node: Any, _: str) -> None:
    """Make a result outside the years 1 to 9999 fail, which DuckDB's types hold."""
    node.replace(call("check_year", node))


def _translate_difference(node: Any, _: str) -> None:
    """Count the whole units between two timestamps, not the unit boundaries."""
    from sqlglot import expressions as exp

    unit = exp.Literal.string(node.args["unit"].name)
    node.replace(exp.func("DATESUB", unit, node.expression.copy(), node.this.copy()))


def _translate_timestamp(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    zone = node.args.get("zone")
    if isinstance(node, exp.StrToTime) and zone is not None:
        node.set("zone", None)
        node.replace(exp.paren(exp.AtTimeZone(this=node.copy(), zone=zone.copy())))
        return
    node.replace(exp.cast(node.copy(), "TIMESTAMPTZ"))


def _translate_current_datetime(node: Any, _: str) -> None:
    from sqlglot import expressions as exp

    zone = node.this.copy() if node.this else exp.Literal.string("UTC")
    node.replace(exp.AtTimeZone(this=exp.CurrentTimestamp(), zone=zone))


def _translate_extract(node: Any, text: str) -> None:
    from sqlglot import expressions as exp

    part, value = node.this.sql(dialect="bigquery").upper(), node.expression.copy()
    if part in ("DATE", "DATETIME", "TIME"):
        moment = value if part == "DATE" else exp.cast(value, "TIMESTAMP", dialect="duckdb")
        node.replace(exp.cast(moment, part) if part != "DATETIME" else moment)
    elif part in _FRACTIONS:
        within = exp.Literal.number(_FRACTIONS[part])
        node.replace(exp.paren(exp.Mod(this=node.copy(), expression=within)))
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
    **ARITHMETIC,
    **CASTS,
    **FUNCTIONS,
    "CurrentDatetime": _translate_current_datetime,
    "DataType": translate_type,
    "DateAdd": _translate_date_function,
    "DateSub": _translate_date_function,
    "DatetimeAdd": _translate_addition,
    "DatetimeSub": _translate_addition,
    "DateTrunc": _translate_date_function,
    "Extract": _translate_extract,
    "Format": translate_format,
    "SafeFunc": _translate_safe,
    "StrToTime": _translate_timestamp,
    "TimestampAdd": _translate_addition,
    "TimestampSub": _translate_addition,
    "TimestampDiff": _translate_difference,
    "TimeToStr": translate_time_format,
    "UnixToTime": _translate_timestamp,
}
"""By class name of sqlglot's nodes, because not every version of sqlglot has all classes."""
