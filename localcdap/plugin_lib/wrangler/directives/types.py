"""The types of columns."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

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
from localcdap.api.schema import LogicalType, Schema
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.wrangler.directives.native_helpers import WHOLE, is_text, present, real_of
from localcdap.plugin_lib.wrangler.values.conversion import (
    KINDS,
    ROUNDINGS,
    ConversionError,
    converted,
    fitted,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

_SCHEMAS: Final = {
    "int": Schema.INT,
    "short": Schema.INT,
    "long": Schema.LONG,
    "float": Schema.FLOAT,
    "double": Schema.DOUBLE,
    "bool": Schema.BOOLEAN,
    "string": Schema.STRING,
    "bytes": Schema.BYTES,
}

_FORMS: Final[dict[Schema | None, str]] = {Schema.INT: ">i", Schema.LONG: ">q", Schema.FLOAT: ">f"}
"""How many bytes numbers become."""


@plugin(type="directive", name="set-type", description="Converts a column to another type.")
class SetType(Directive):
    categories = ("column",)
    examples = (
        "set-type :zip integer",
        "set-type :price decimal 2 'HALF_UP'",
        "set-type :price decimal 2 'HALF_UP' prop:{precision=10}",
    )
    column: str = argument.column(
        "The column to convert; a blank text becomes null where it cannot stay."
    )
    type: str = argument.identifier(
        "int, short, long, float, double, bool, string, bytes or decimal.", choices=tuple(KINDS)
    )
    scale: int | None = argument.number("Places behind the point of a decimal.", default=None)
    rounding_mode: str | None = argument.text(
        "How a decimal is rounded: HALF_EVEN (the default), HALF_UP, HALF_DOWN, UP, DOWN, CEILING, FLOOR, "
        "or UNNECESSARY, which fails instead.",
        default=None,
    )
    precision: dict[str, Any] | None = argument.properties(
        "Digits of a decimal.", default=None, label="prop:{precision=<precision>}"
    )

    _given: Schema | None = None
    """What is known of the column before it is converted: Python's numbers have not the width of Java's."""

    def _kind(self) -> str:
        return KINDS[self.type.lower()]

    def _digits(self) -> int | None:
        given = (self.precision or {}).get("precision")
        return None if given is None else int(given)

    def _places(self) -> int | None:
        return None if self.scale is None else int(self.scale)

    def problem(self) -> str | None:
        if self._kind() != "decimal":
            return None
        if self.precision is not None and not isinstance(
            self.precision.get("precision"), int | Decimal
        ):
            return "the properties must be prop:{precision=<number>}"
        digits = self._digits()
        if digits is not None and digits < 1:
            return "the precision must be at least 1"
        if self.rounding_mode is None:
            return None
        if self.scale is None and digits is None:
            return "a rounding mode needs a scale or a precision"
        if self.rounding_mode not in (*ROUNDINGS, "UNNECESSARY"):
            known = ", ".join((*ROUNDINGS, "UNNECESSARY"))
            return f"'{self.rounding_mode}' is no rounding mode; there are {known}"
        return None

    def propagate(self, columns: Columns) -> None:
        schema = columns.schema(self.column)
        self._given = schema.non_nullable if schema is not None else None
        if columns.is_missing(self.column):
            return
        if self._kind() == "decimal":
            columns.put(self.column, self._decimal(columns, schema))
        elif (
            schema is None
            or schema.non_nullable != Schema.STRING
            or self._kind() in ("string", "bytes")
        ):
            made = _SCHEMAS[self._kind()]
            columns.put(
                self.column, made if schema and not schema.is_nullable else made.as_nullable
            )
        else:
            columns.put(self.column, _SCHEMAS[self._kind()].as_nullable)

    def _decimal(self, columns: Columns, schema: Schema | None) -> Schema | None:
        places, digits = self._places(), self._digits()
        inner = schema.non_nullable if schema is not None else None
        if inner is not None and inner.logical_type is LogicalType.DECIMAL:
            places = inner.scale if places is None else places
            digits = inner.precision if digits is None else digits
        if places is None or places < 0:
            return None
        digits = 38 if digits is None else digits
        if digits - places < 1:
            columns.fail(
                f"A decimal of {digits} digits with {places} behind the point has none before it.",
                "Give a greater precision or a smaller scale.",
            )
            return None
        return Schema.decimal(digits, places).as_nullable

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None:
            return
        value = row[found]
        kind = self._kind()
        if value is None:
            return
        is_blank = isinstance(value, str) and not value.strip(TRIM_CHARACTERS)
        if is_blank and kind not in ("string", "bytes"):
            # The original leaves the blank text where it is, and makes it null at the end.
            row[found] = None
            return
        try:
            made = converted(kind, value, _FORMS.get(self._given))
            if kind == "decimal":
                made = fitted(made, self._places(), self._digits(), self._rounding())
        except ConversionError as error:
            raise DirectiveError(
                f"column '{self.column}' cannot be converted to '{self.type}': {error}"
            ) from None
        row[found] = made

    def _rounding(self) -> str:
        return self.rounding_mode or "HALF_EVEN"

    def native(self, frame: Frame) -> None:
        if frame.columns.find(self.column) is None:
            return
        kind = self._kind()
        schema = present(frame, self.column)
        if kind == "decimal":
            raise NoNativeFormError("Spark's decimals have other digits")
        value = frame.column(self.column)
        if is_text(schema):
            self._from_text(frame, kind, schema, value)
        elif schema.non_nullable in (Schema.INT, Schema.LONG):
            made = _from_whole(kind, value)
            frame.put(self.column, made, _like(_SCHEMAS[kind], schema))
        elif schema.non_nullable != _SCHEMAS[kind]:
            raise NoNativeFormError(
                f"Spark converts {schema.non_nullable.display_name} in another way"
            )

    def _from_text(self, frame: Frame, kind: str, schema: Schema, value: Column) -> None:
        from pyspark.sql import functions as f

        if kind == "string":
            return
        if kind == "bytes":
            frame.put(self.column, f.encode(value, "UTF-8"), _like(Schema.BYTES, schema))
            return
        trimmed = f.btrim(value, f.lit(TRIM_CHARACTERS))
        is_blank = trimmed == ""
        if kind == "bool":
            made = f.lower(value) == "true"
        elif kind in ("float", "double"):
            made = real_of(value, kind)
        else:
            spark = {"int": "int", "short": "smallint", "long": "bigint"}[kind]
            made = f.when(value.rlike(WHOLE), value.try_cast(spark))
        if kind != "bool":
            shown = f.substring(value, 1, 80)
            frame.fail_where(
                made.isNull() & ~is_blank,
                f.concat(
                    f.lit(f"column '{self.column}' cannot be converted to '{self.type}': '"),
                    shown,
                    f.lit("' is no number of that type"),
                ),
            )
        made = f.when(~is_blank, made.cast("int") if kind == "short" else made)
        frame.put(self.column, made, _SCHEMAS[kind].as_nullable)


def _like(made: Schema, schema: Schema) -> Schema:
    return made.as_nullable if schema.is_nullable else made


def _from_whole(kind: str, value: Column) -> Column:
    """A whole number as another kind, narrowed by its low bits."""
    match kind:
        case "int":
            return _wrapped(value, 32).cast("int")
        case "short":
            return _wrapped(value, 16).cast("int")
        case "long":
            return value.cast("bigint")
        case "float" | "double" | "string":
            return value.cast(kind)
        case "bool":
            return value > 0
        case _:
            raise NoNativeFormError("Spark writes the bytes of numbers in another way")


def _wrapped(value: Column, bits: int) -> Column:
    from pyspark.sql import functions as f

    low = value.cast("bigint").bitwiseAND(f.lit((1 << bits) - 1).cast("bigint"))
    return f.when(low >= 1 << (bits - 1), low - (1 << bits)).otherwise(low)
