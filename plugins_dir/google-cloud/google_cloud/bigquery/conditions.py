"""Conditions in BigQuery's SQL: on the rows that a source reads, and on the rows that a sink changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from .casts import ROUNDED
from .expressions import translate_expressions, translate_type
from .refusals import get_function_name, refuse_tokens, refuse_unknown
from .sql import SqlError, build_translation_error, describe_position, format_sql, parse_condition

_SIDES: Final = {"": "held", "T": "held", "S": "given"}
"""The two sides of CDAP's MERGE, and those of :class:`localcdap.api.tables.TableWrite`."""


_PER_YEAR: Final = {"MONTH": 12, "QUARTER": 4, "YEAR": 1}
FILTER_FUNCTIONS: Final = frozenset(
    str.split(
        "ABS CHARACTER_LENGTH CHAR_LENGTH COALESCE CONCAT CURRENT_DATE CURRENT_TIMESTAMP DATE "
        "DATE_ADD DATE_DIFF DATE_SUB ENDS_WITH IF IFNULL IS_NAN LENGTH LOWER NULLIF STARTS_WITH "
        "STRUCT SUBSTR SUBSTRING TIMESTAMP TIMESTAMP_ADD TIMESTAMP_SUB UPPER"
    )
)
"""The functions to which Spark gives the meaning of BigQuery."""


def to_spark_condition(
    text: str,
    table: str = "",
    columns: Sequence[str] = (),
    fractions: Collection[str] = (),
    texts: Collection[str] = (),
) -> str:
    """Translate a condition to Spark's SQL.

    :param table: the name that may qualify columns.
    :param columns: the columns of the table; their case does not matter.
    :param fractions: those that can be NaN, in the case of the table.
    :param texts: those that are STRINGs, which casts of Spark read in another way.
    :raises SqlError: when the text is not a condition, or Spark has no equivalent.
    """
    from sqlglot import expressions as exp

    # A node without a parent cannot be replaced.
    wrapped = exp.Paren(this=parse_condition(text))
    _refuse(wrapped, text)
    known = {name.lower(): name for name in columns}
    for node in reversed(list(wrapped.walk())):
        match node:
            case exp.Column():
                _resolve_column(node, table, known)
            case exp.DataType():
                translate_type(node)
            case exp.Cast() | exp.TryCast() if _reads_text(node, texts):
                raise build_translation_error(node, text, "Convert the column in the pipeline.")
            case exp.EQ() | exp.NEQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
                _compare_nan(node, fractions)
            case _:
                _translate_to_spark(node)
    return format_sql(wrapped.this, "spark")


def _translate_to_spark(node: Any) -> None:
    from sqlglot import expressions as exp

    match node:
        case exp.Cast() | exp.TryCast() if node.to.this is exp.DataType.Type.BIGINT:
            # Spark truncates fractions; BigQuery rounds them, halves away from zero.
            digits = type(node)(this=node.this.copy(), to=exp.DataType.build(ROUNDED))
            node.set("this", exp.func("ROUND", digits))
        case exp.IsNan():
            is_null = exp.Is(this=node.this.copy(), expression=exp.Null())
            node.replace(exp.case().when(is_null, exp.Null()).else_(node.copy()))
        case exp.DateDiff():
            _count_units(node)
        case exp.Extract() if node.this.name.upper() == "DATE":
            node.replace(exp.cast(node.expression.copy(), "DATE"))
        case exp.Extract() if node.this.name.upper() == "ISOWEEK":
            node.set("this", exp.var("WEEK"))


def _count_units(node: Any) -> None:
    """Count the months, quarters or years that begin between two dates; Spark counts whole ones."""
    from sqlglot import expressions as exp

    unit = _name_unit(node)
    if unit not in _PER_YEAR:
        return

    def count(date: Any) -> Any:
        years = exp.Mul(this=exp.func("YEAR", date), expression=exp.Literal.number(_PER_YEAR[unit]))
        if unit == "YEAR":
            return exp.func("YEAR", date)
        return exp.paren(exp.Add(this=years, expression=exp.func(unit, date)))

    first, second = (count(each.copy()) for each in (node.this, node.expression))
    node.replace(exp.paren(exp.Sub(this=first, expression=second)))


def _compare_nan(node: Any, fractions: Collection[str]) -> None:
    """Make a comparison with NaN false; Spark's NaN is equal to itself, and the largest number."""
    from sqlglot import expressions as exp

    left, right = (
        any(column.name in fractions for column in side.find_all(exp.Column))
        for side in (node.this, node.expression)
    )
    needed = {exp.GT: left, exp.GTE: left, exp.LT: right, exp.LTE: right}
    if not needed.get(type(node), left and right):
        return
    is_left = isinstance(node, exp.GT | exp.GTE | exp.EQ | exp.NEQ)
    side, other = (node.this, node.expression) if is_left else (node.expression, node.this)
    is_nan = exp.Anonymous(this="ISNAN", expressions=[side.copy()])
    is_null = exp.Is(this=other.copy(), expression=exp.Null())
    if isinstance(node, exp.NEQ):
        made = exp.or_(node.copy(), exp.and_(is_nan, exp.not_(is_null)))
    else:
        made = exp.and_(node.copy(), exp.or_(exp.not_(is_nan), is_null))
    node.replace(exp.paren(made))


def _refuse(parsed: Any, text: str) -> None:
    """Raise an error for an expression that has another meaning in Spark.

    :raises SqlError: for other tables, weeks and times of day.
    """
    from sqlglot import expressions as exp

    refuse_tokens(text)
    refuse_unknown(parsed, text)
    for node in parsed.walk():
        name = get_function_name(node) if isinstance(node, exp.Func) else ""
        if name and name not in FILTER_FUNCTIONS:
            raise SqlError(
                f"'{name}' is not translated in a filter{describe_position(text, node)}.",
                f"Use one of {', '.join(sorted(FILTER_FUNCTIONS))}, or a filter in the pipeline.",
            )
        remedy = _find_remedy(node)
        if remedy is not None:
            raise build_translation_error(node, text, remedy)
        match node:
            case exp.Table() if node.name:
                raise SqlError(
                    f"A condition cannot read another table: '{node.name}'{describe_position(text, node)}.",
                    "Join the two tables in the pipeline.",
                )
            case exp.DataType() if node.this is exp.DataType.Type.TIME:
                raise build_translation_error(node.parent, text, "Use EXTRACT(HOUR FROM …).")


def _find_remedy(node: Any) -> str | None:
    """Return what to write in place of a call that Spark reads in another way; None for another one."""
    from sqlglot import expressions as exp

    match node:
        case exp.Substring() if not _is_position(node.args.get("start")):
            return "Write a position from 1."
        case exp.Substring() if not isinstance(node.args.get("length"), exp.Literal | None):
            return "Write a length from 0."
        case exp.SafeFunc():
            return "Use a filter in the pipeline."
        case exp.DateDiff() if _name_unit(node) not in ("DAY", *_PER_YEAR):
            return "Use DAY, MONTH, QUARTER or YEAR."
        case exp.Date() | exp.Timestamp() if node.args.get("zone") is not None:
            return "Leave out the time zone."
        case exp.Extract() if node.this.sql("bigquery").upper().startswith("WEEK"):
            return "Use ISOWEEK, or days."
        case exp.Time() | exp.CurrentTime():
            return "Use EXTRACT(HOUR FROM …), or whole timestamps."
    return None


def _name_unit(node: Any) -> str:
    unit = node.args.get("unit")
    return str(unit.name if unit is not None else "DAY").upper()


def _is_position(node: Any) -> bool:
    from sqlglot import expressions as exp

    return isinstance(node, exp.Literal) and bool(node.name.strip("0"))


def _reads_text(cast: Any, texts: Collection[str]) -> bool:
    """Return whether a cast reads a column that is a STRING as another type."""
    from sqlglot import expressions as exp

    kind = cast.to.this.name
    is_column = isinstance(cast.this, exp.Column) and cast.this.name in texts
    return is_column and kind not in ("TEXT", "VARCHAR", "BINARY")


def _resolve_column(column: Any, table: str, known: dict[str, str]) -> None:
    """Remove the table before a column, and use the column's name in the case of the table."""
    from sqlglot import expressions as exp

    first, *rest = column.parts
    if rest and first.name == table and first.name.lower() not in known:
        column.set(first.arg_key, None)
        first = rest[0]
    if first.name.lower() in known:
        first.replace(exp.to_identifier(known[first.name.lower()], quoted=True))


def to_duckdb_condition(text: str) -> str:
    """Translate a condition on the rows that a MERGE may match, for ``TableWrite.among``.

    ``column`` and ``T.column`` are columns of the table, ``S.column`` is a field of the records.

    :raises SqlError: when the text is not a condition, names another table, or DuckDB has no equivalent.
    """
    from sqlglot import expressions as exp

    # A node without a parent cannot be replaced.
    wrapped = exp.Paren(this=parse_condition(text))
    for column in wrapped.find_all(exp.Column):
        side = _SIDES.get(column.table.upper())
        if side is None:
            raise SqlError(
                f"'{column.sql('bigquery')}' is not a column of the table{describe_position(text, column)}.",
                "Write the column alone, or as T.column.",
            )
        column.set("table", exp.to_identifier(side))
    refuse_tokens(text)
    refuse_unknown(wrapped, text)
    translate_expressions(wrapped, text)
    return format_sql(wrapped.this, "duckdb")


def list_columns(text: str) -> list[str]:
    """Return the columns of the table that such a condition names, each once.

    :raises SqlError: as :func:`to_duckdb_condition`.
    """
    from sqlglot import expressions as exp

    found = parse_condition(text).find_all(exp.Column)
    return list(dict.fromkeys(each.name for each in found if each.table.upper() in ("", "T")))
