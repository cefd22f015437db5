"""The precondition, which drops records before the recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Type

NAME: Final = "precondition"


@plugin(type="directive", name=NAME, description="Leaves records out.")
class Precondition(Directive):
    """Drops the records for which the condition is true (wrangler ``Precondition``).

    Recipes cannot use it: the stage's property makes it the directive that runs before all others.
    """

    condition = argument.expression("True for the records that are left out.")

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self._is_out: Callable[..., Any] = self.condition.compile()

    def propagate(self, columns: Columns) -> None:
        """Leave the columns as they are."""

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        from localcdap.plugin_lib.jexl import to_truth

        return () if to_truth(self._is_out(row)) else (row,)

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        found = frame.evaluate(self.condition)
        if found.type.non_nullable.type is not Type.BOOLEAN:
            raise NoNativeFormError("the precondition is not a comparison")
        if found.failing is not None:
            frame.fail_where(
                found.failing, f"the precondition '{self.condition.text}' has no value"
            )
        frame.keep_where(~f.coalesce(found.column, f.lit(False)))
