"""Conditions on rows outside of recipes: the language of the rule ``row`` of expectations.

The engine and the validation of pipelines use this module, and no other one of the library of plugins. A
condition holds for a row when its value is true, or the text ``true``; it does not hold when it has another
value, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema, Type
from localcdap.plugin_lib.jexl.errors import EvaluationError, JexlError
from localcdap.plugin_lib.jexl.expression import parse, to_truth

if TYPE_CHECKING:
    from pyspark.sql import Column

RowTest = Callable[[Sequence[Mapping[str, Any]]], list[bool]]
"""Returns for each row whether a condition holds."""


def find_condition_problems(text: str, schema: Schema) -> list[str]:
    """Return what is wrong with a condition for rows of a schema; each name must be that of a column."""
    try:
        expression = parse(text)
    except JexlError as error:
        return [
            f"{each.message}." if each.message[-1:] != "." else each.message
            for each in error.problems
        ]
    columns = Columns((field.name, field.schema) for field in schema)
    problems = expression.check_columns(columns, must_exist=True)
    found = [f"{each.message}." + (f" {each.hint}" if each.hint else "") for each in problems]
    type = None if found else expression.type(schema)
    if type is not None and type.non_nullable.type not in (Type.BOOLEAN, Type.STRING):
        return [f"The condition is {type.display_name}, neither true nor false."]
    return found


def create_row_test(text: str) -> RowTest:
    """Return the test of a condition.

    :raises JexlError: when the text is not a condition.
    """
    evaluate = parse(text).compile()

    def holds(row: Mapping[str, Any]) -> bool:
        try:
            return to_truth(evaluate(row)) is True
        except EvaluationError:
            return False

    return lambda rows: [holds(row) for row in rows]


def build_condition_column(text: str, schema: Schema) -> Column | None:
    """Return a column of Spark: whether a condition holds, never null; None when Spark has no equal.

    :raises JexlError: when the text is not a condition.
    """
    from pyspark.sql import functions as f

    native = parse(text).native(schema)
    if native is None:
        return None
    value = native.column
    if native.type.non_nullable.type is Type.STRING:
        value = f.lower(value) == "true"
    elif native.type.non_nullable.type is not Type.BOOLEAN:
        return None
    return f.coalesce(value, f.lit(False))
