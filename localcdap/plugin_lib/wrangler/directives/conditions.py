"""Directives with a condition, which drop rows, send them to the error port or fail the run, and those that
set columns to expressions.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    ErrorRow,
    Expression,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.regex import compile_regex
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    as_text,
    format_error_record,
    is_text,
    make_type_error,
    require_plain_regex,
)
from localcdap.plugin_lib.wrangler.values.text_edits import find_syntax_problem

if TYPE_CHECKING:
    from pyspark.sql import Column


_NEITHER = "the condition is neither true nor false"


class Conditional(Directive):
    """A directive that evaluates its attribute ``condition`` for every row."""

    condition: Expression

    def start(self, context: RowContext) -> None:
        self._evaluate = self.condition.compile()

    def is_met(self, row: Row, context: RowContext) -> bool:
        """Whether the condition is true; a text is true if it is ``true``.

        :raises DirectiveError: for a value that is neither true nor false.
        """
        value: Any = self._evaluate(row, context.variables)
        if isinstance(value, bool):
            return value
        if isinstance(value, str):
            return value.lower() == "true"
        raise DirectiveError(f"{_NEITHER}: {self.condition.text}")

    def propagate(self, columns: Columns) -> None:
        schema = self.condition.type(columns.record())
        if schema is not None and not (is_text(schema) or schema.non_nullable == Schema.BOOLEAN):
            columns.fail(
                f"The condition '{self.condition.text}' is {schema.display_name}: {_NEITHER[4:]}."
            )

    def evaluate_natively(self, frame: Frame) -> Column:
        """Return the condition as a column; rows for which it has no value fail, and are null in it."""
        from pyspark.sql import functions as f

        native = frame.evaluate(self.condition)
        value = native.column
        if is_text(native.type):
            value = f.lower(value) == "true"
        elif native.type.non_nullable != Schema.BOOLEAN:
            raise NoNativeFormError(_NEITHER)
        message = explain_natively(frame, self.condition, "the condition has no value")
        frame.fail_where(value.isNull(), message)
        return value


def explain_natively(frame: Frame, expression: Expression, reason: str) -> Column:
    """Return the message of a row for which an expression fails in Spark, which does not say why.

    It has the values of the columns that the expression reads, of each at most 80 characters.
    """
    from pyspark.sql import functions as f

    names = [found for name in sorted(expression.variables) if (found := frame.columns.find(name))]
    values = [
        f.coalesce(f.concat(f.lit("'"), f.substring(text, 1, 80), f.lit("'")), f.lit("null"))
        for text in (frame.column(name).cast("string") for name in names)
    ]
    described = [
        f.concat(f.lit(f"column '{name}' is "), value)
        for name, value in zip(names, values, strict=True)
    ]
    return f.concat_ws("; ", f.lit(f"{reason}: {expression.text}"), *described)


@plugin(name="filter-row", description="Drops the rows for which a condition is true.")
class FilterRow(Conditional):
    categories = ("row", "data-quality")
    examples = ("filter-row exp:{age < 18}", "filter-row exp:{country == 'US'} false")
    condition: Expression = argument.expression("The condition, an expression.")
    type: bool = argument.boolean(
        "true to drop rows for which the condition is true, false to drop the others.", default=True
    )

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        return () if self.is_met(row, context) == self.type else (row,)

    def native(self, frame: Frame) -> None:
        met = self.evaluate_natively(frame)
        frame.keep_where(~met if self.type else met)


@plugin(name="fail", description="Fails when a condition is true for a row.")
class Fail(Conditional):
    categories = ("row", "data-quality")
    examples = ("fail exp:{count < 0}",)
    condition: Expression = argument.expression("The condition that must not be true.")

    def problem(self) -> str | None:
        return None if self.condition.text.strip() else "the condition is empty"

    def change(self, row: Row, context: RowContext) -> None:
        if self.is_met(row, context):
            raise DirectiveError(self._explain())

    def native(self, frame: Frame) -> None:
        frame.fail_where(self.evaluate_natively(frame), self._explain())

    def _explain(self) -> str:
        return f"the condition '{self.condition.text}' is true; processing ends"


class _SendDirective(Conditional):
    drops_rows = True
    condition: Expression = argument.expression("The condition, an expression.")
    metric: str | None = argument.identifier("The metric that counts the rows.", default=None)
    message: str | None = argument.text("The message; by default the condition.", default=None)

    def format_message(self) -> str:
        """Return the message of the error records."""
        raise NotImplementedError

    def _read_message(self) -> str:
        return self.condition.text if self.message is None else self.message

    def send(self, context: RowContext) -> None:
        if self.metric is not None:
            context.metrics.count(self.metric, 1)
        raise ErrorRow(self.format_message(), 1)

    def native(self, frame: Frame) -> None:
        if self.metric is not None:
            raise NoNativeFormError("it counts a metric")
        frame.error_where(self.evaluate_natively(frame), self.format_message(), 1)


@plugin(
    name="send-to-error",
    description="Sends the rows for which a condition is true to the error port.",
)
class SendToError(_SendDirective):
    categories = ("row", "data-quality")
    examples = (
        "send-to-error exp:{age < 0}",
        "send-to-error exp:{age < 0} age_errors 'age below 0'",
    )

    def format_message(self) -> str:
        return format_error_record(self._read_message(), 1, self.directive_name())

    def change(self, row: Row, context: RowContext) -> None:
        if self.is_met(row, context):
            self.send(context)


@plugin(
    name="send-to-error-and-continue",
    description="Sends the rows for which a condition is true to the error port, and counts the tested and "
    "the sent rows in the variables dq_total and dq_failure.",
)
class SendToErrorAndContinue(_SendDirective):
    categories = ("row", "data-quality")
    examples = ("send-to-error-and-continue exp:{age < 0} 'age below 0'",)
    variables = ("dq_total", "dq_failure")

    def format_message(self) -> str:
        return f"{self._read_message()} (ecode: 1)"

    def change(self, row: Row, context: RowContext) -> None:
        variables = context.variables
        variables["dq_total"] = variables.get("dq_total", 0) + 1
        failures = variables.setdefault("dq_failure", 0)
        if self.is_met(row, context):
            variables["dq_failure"] = failures + 1
            self.send(context)


@plugin(
    name="filter-empty-or-null", description="Drops the rows in which all of the columns are null."
)
class FilterEmptyOrNull(Directive):
    categories = ("row", "data-quality")
    examples = ("filter-empty-or-null :id,:name",)
    keeps_values = True
    column: list[str] = argument.columns("The columns; rows without one of them are kept.")

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        for name in self.column:
            found = row.find(name)
            if found is None or row[found] is not None:
                return (row,)
        return ()

    def native(self, frame: Frame) -> None:
        from functools import reduce

        if any(frame.columns.find(name) is None for name in self.column):
            return
        conditions = [frame.column(name).isNotNull() for name in self.column]
        frame.keep_where(reduce(lambda one, other: one | other, conditions))


@plugin(
    name="filter-by-regex",
    description="Drops the rows in which a column matches a regular expression, or does not.",
)
class FilterByRegex(Directive):
    categories = ("row", "data-quality")
    examples = ("filter-by-regex if-matched :email '.*@example.com'",)
    keeps_values = True
    match_type: str = argument.identifier(
        "if-matched or if-not-matched.", choices=("if-matched", "if-not-matched")
    )
    column: str = argument.column("The column; rows without it are kept.")
    regex: str = argument.text(
        "The regular expression for the whole value. If it is empty or the word null, no row is dropped."
    )

    def problem(self) -> str | None:
        return find_syntax_problem(compile_regex, self.regex)

    def _is_inactive(self) -> bool:
        return self.regex.lower() in ("", "null")

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = row.find(self.column)
        if found is None or self._is_inactive():
            return (row,)
        value = row[found]
        if isinstance(value, dict):
            return (row,)
        if not isinstance(value, str | int | float | Decimal) or isinstance(value, bool):
            raise make_type_error(self.column, value, "a text or a number is needed")
        matches = compile_regex(self.regex).matches(to_java_string(value))
        return () if matches == (self.match_type == "if-matched") else (row,)

    def native(self, frame: Frame) -> None:
        if self._is_inactive() or frame.columns.find(self.column) is None:
            return
        require_plain_regex(self.regex)
        value = as_text(frame, self.column)
        frame.fail_where(
            value.isNull(), f"column '{self.column}' is null; a text or a number is needed"
        )
        matches = value.rlike(rf"\A(?:{self.regex})\z")
        frame.keep_where(~matches if self.match_type == "if-matched" else matches)


@plugin(name="set-column", description="Puts the value of an expression into a column.")
class SetColumn(Directive):
    categories = ("transform",)
    examples = ("set-column :name exp:{string:upperCase(first) + ' ' + last}",)
    makes = ("column",)
    column: str = argument.column("The column, new or existing.")
    expression: Expression = argument.expression("The expression.")

    def propagate(self, columns: Columns) -> None:
        columns.put(self.column, self.expression.type(columns.record()))

    def start(self, context: RowContext) -> None:
        self._evaluate = self.expression.compile()

    def change(self, row: Row, context: RowContext) -> None:
        row.put(self.column, self._evaluate(row, context.variables))

    def native(self, frame: Frame) -> None:
        native = frame.evaluate(self.expression)
        if native.failing is not None:
            message = explain_natively(frame, self.expression, "the expression cannot be evaluated")
            frame.fail_where(native.failing, message)
        frame.put(self.column, native.column, native.type)


@plugin(
    name="set-variable",
    description="Sets a transient variable, which later directives can read for the same record.",
)
class SetVariable(Directive):
    categories = ("transient",)
    examples = ("set-variable limit exp:{age > 18 ? 10 : 5}",)
    variable: str = argument.identifier("The variable.")
    condition: Expression = argument.expression("Its value.")

    def sets_variables(self) -> Iterable[str]:
        return (self.variable,)

    def start(self, context: RowContext) -> None:
        self._evaluate = self.condition.compile()

    def change(self, row: Row, context: RowContext) -> None:
        context.variables[self.variable] = self._evaluate(row, context.variables)

    def native(self, frame: Frame) -> None:
        raise NoNativeFormError("variables are kept in batches")


@plugin(
    name="increment-variable", description="Adds to a transient variable when a condition is true."
)
class IncrementVariable(Conditional):
    categories = ("transient",)
    examples = ("increment-variable errors 1 exp:{age < 0}",)
    variable: str = argument.identifier("The variable; its first value is 0.")
    value: int = argument.number("The number to add.")
    condition: Expression = argument.expression("The condition, an expression.")

    def sets_variables(self) -> Iterable[str]:
        return (self.variable,)

    def change(self, row: Row, context: RowContext) -> None:
        if self.is_met(row, context):
            before = context.variables.get(self.variable, 0)
            context.variables[self.variable] = before + int(self.value)

    def native(self, frame: Frame) -> None:
        raise NoNativeFormError("variables are kept in batches")
