"""Directives with a condition: they drop rows, send them to the error port, or fail the run."""

from __future__ import annotations

from collections.abc import Iterable
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
from localcdap.plugin_lib.wrangler.directives.error_messages import format_error_record
from localcdap.plugin_lib.wrangler.directives.native_helpers import is_text

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
        frame.fail_where(value.isNull(), f"the condition has no value: {self.condition.text}")
        return value


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
