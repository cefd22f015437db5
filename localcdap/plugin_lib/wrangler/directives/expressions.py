"""Directives that put values of expressions into columns and transient variables."""

from __future__ import annotations

from collections.abc import Iterable

from localcdap.api.directive import (
    Columns,
    Directive,
    Expression,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.plugin_lib.wrangler.directives.conditions import Conditional


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
            frame.fail_where(
                native.failing, f"the expression cannot be evaluated: {self.expression.text}"
            )
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
