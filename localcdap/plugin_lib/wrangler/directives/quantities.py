"""The directive that replaces numbers by labels of ranges."""

from __future__ import annotations

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
from localcdap.api.directive.argument import NumberRange
from localcdap.api.schema import Schema
from localcdap.java.numbers import NumberFormatError, parse_double
from localcdap.plugin_lib.spark.conversion import read_real
from localcdap.plugin_lib.wrangler.directives.columns import find_column, report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import describe_value
from localcdap.plugin_lib.wrangler.directives.native_helpers import (
    is_text,
    require_column,
)


@plugin(name="quantize", description="Replaces ranges of numbers by their labels.")
class Quantize(Directive):
    categories = ("transform",)
    examples = ("quantize :age :group 0:17='minor',18:120='adult'",)
    makes = ("destination",)
    source: str = argument.column("The column with doubles, or texts that are numbers.")
    destination: str = argument.column("The column for the label; null outside all ranges.")
    ranges: list[NumberRange] = argument.ranges(
        "From, to and label; both ends belong to a range, and the later of two that overlap counts."
    )

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.source, "quantize")
        columns.put(self.destination, Schema.STRING.as_nullable)

    def change(self, row: Row, context: RowContext) -> None:
        value = row[find_column(row, self.source)]
        if isinstance(value, str):
            try:
                value = parse_double(value)
            except NumberFormatError:
                raise DirectiveError(
                    f"column '{self.source}' is '{value[:80]}', not a number"
                ) from None
        if not isinstance(value, float):
            raise DirectiveError(self._format_type_error(describe_value(value)))
        row.put(self.destination, self._find_label(value))

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        schema = require_column(frame, self.source)
        given = value = frame.column(self.source)
        frame.fail_where(given.isNull(), self._format_type_error("null"))
        if is_text(schema):
            value = read_real(given)
            shown = f.concat(f.lit("'"), f.substring(given, 1, 80), f.lit("', not a number"))
            frame.fail_where(
                given.isNotNull() & value.isNull(),
                f.concat(f.lit(f"column '{self.source}' is "), shown),
            )
        elif schema.non_nullable != Schema.DOUBLE:
            raise NoNativeFormError("only texts and doubles are quantized by Spark")
        label = f.lit(None).cast("string")
        for each in self.ranges:
            is_within = (value >= float(each.start)) & (value <= float(each.end))
            label = f.when(is_within, f.lit(each.value)).otherwise(label)
        frame.put(self.destination, label, Schema.STRING.as_nullable)

    def _format_type_error(self, what: str) -> str:
        return f"column '{self.source}' is {what}; a text or a number with a point is needed"

    def _find_label(self, value: float) -> str | None:
        for each in reversed(self.ranges):
            if float(each.start) <= value <= float(each.end):
                return each.value
        return None
