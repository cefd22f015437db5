"""The precondition, which drops records before the recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Type

NAME: Final = "precondition"


@plugin(name=NAME, description="Leaves records out.")
class Precondition(Directive):
    """Drops the records for which the condition is true (``Precondition.java`` of wrangler-transform).

    A record for which it is neither true nor false fails, also for the text ``true`` and for null. Each
    variable must be a column: the engine of the original (``JexlScriptEngine``) is strict, and nothing adds
    nulls to its bindings. Recipes cannot use the directive: the stage's property makes it the one that runs
    before all others.
    """

    condition = argument.expression("True for the records that are left out.")

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self._is_out: Callable[..., Any] = self.condition.compile()

    def propagate(self, columns: Columns) -> None:
        schema = self.condition.type(columns.record())
        if schema is not None and schema.non_nullable.type is not Type.BOOLEAN:
            columns.fail(
                self._explain(), f"It is {schema.display_name}: compare it with something."
            )

    def _explain(self) -> str:
        """Return the message of the original for a value that is neither true nor false."""
        return f"Precondition '{self.condition.text}' does not result in true or false."

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        value = self._is_out(row)
        if not isinstance(value, bool):
            raise DirectiveError(self._explain())
        return () if value else (row,)

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        found = frame.evaluate(self.condition)
        if found.type.non_nullable.type is not Type.BOOLEAN:
            raise NoNativeFormError("the precondition is not a comparison")
        if found.failing is not None:
            frame.fail_where(
                found.failing, f"the precondition '{self.condition.text}' has no value"
            )
        if found.type.is_nullable:
            frame.fail_where(found.column.isNull(), self._explain())
        frame.keep_where(~f.coalesce(found.column, f.lit(False)))
