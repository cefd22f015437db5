"""The directive that converts columns to other types."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.directive import (
    Columns,
    DirectiveError,
    Frame,
    NoNativeFormError,
    argument,
    plugin,
)
from localcdap.api.schema import LogicalType, Schema
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.spark.conversion import read_real, read_whole
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    ColumnMap,
    is_text,
    require_column,
)
from localcdap.plugin_lib.wrangler.values.conversion import (
    KINDS,
    ROUNDINGS,
    ConversionError,
    convert_value,
    fit_decimal,
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

_STRUCT_FORMATS: Final[dict[Schema | None, str]] = {
    Schema.INT: ">i",
    Schema.LONG: ">q",
    Schema.FLOAT: ">f",
}
"""The struct format of numbers that become bytes, by their schema."""


@plugin(name="set-type", description="Converts a column to another type.")
class SetType(ColumnMap):
    categories = ("column",)
    examples = (
        "set-type :zip integer",
        "set-type :price decimal 2 'HALF_UP'",
        "set-type :price decimal 2 'HALF_UP' prop:{precision=10}",
    )
    column: str = argument.column(
        "The column to convert. A blank text stays, and is null in an output field that is not a text."
    )
    type: str = argument.identifier(
        "int, short, long, float, double, bool, string, bytes or decimal.", choices=tuple(KINDS)
    )
    scale: int | None = argument.number("Digits after the point of a decimal.", default=None)
    rounding_mode: str | None = argument.text(
        "How a decimal is rounded: HALF_EVEN (the default), HALF_UP, HALF_DOWN, UP, DOWN, CEILING, FLOOR, "
        "or UNNECESSARY, which fails instead.",
        default=None,
    )
    precision: dict[str, Any] | None = argument.properties(
        "Digits of a decimal.", default=None, label="prop:{precision=<precision>}"
    )

    _input_schema: Schema | None = None
    """The known schema before the conversion: Python's numbers do not have the widths of Java's."""

    @property
    def _kind(self) -> str:
        return KINDS[self.type.lower()]

    @property
    def _digits(self) -> int | None:
        given = (self.precision or {}).get("precision")
        return None if given is None else int(given)

    @property
    def _scale(self) -> int | None:
        return None if self.scale is None else int(self.scale)

    def problem(self) -> str | None:
        if self._kind != "decimal":
            return None
        if self.precision is not None and not isinstance(
            self.precision.get("precision"), int | Decimal
        ):
            return "the properties must be prop:{precision=<number>}"
        digits = self._digits
        if digits is not None and digits < 1:
            return "the precision must be at least 1"
        if self.rounding_mode is None:
            return None
        if self.scale is None and digits is None:
            return "a rounding mode needs a scale or a precision"
        if self.rounding_mode not in (*ROUNDINGS, "UNNECESSARY"):
            known = ", ".join((*ROUNDINGS, "UNNECESSARY"))
            return f"'{self.rounding_mode}' is not a rounding mode; there are {known}"
        return None

    def propagate(self, columns: Columns) -> None:
        schema = columns.schema(self.column)
        self._input_schema = schema.non_nullable if schema is not None else None
        if columns.is_missing(self.column):
            return
        if self._kind == "decimal":
            columns.put(self.column, self._make_decimal_schema(columns, schema))
        elif schema is None or schema.non_nullable != Schema.STRING or self._kind == "string":
            made = _SCHEMAS[self._kind]
            columns.put(
                self.column, made if schema and not schema.is_nullable else made.as_nullable
            )
        else:
            columns.put(self.column, _SCHEMAS[self._kind].as_nullable)

    def _make_decimal_schema(self, columns: Columns, schema: Schema | None) -> Schema | None:
        scale, digits = self._scale, self._digits
        inner = schema.non_nullable if schema is not None else None
        if inner is not None and inner.logical_type is LogicalType.DECIMAL:
            scale = inner.scale if scale is None else scale
            digits = inner.precision if digits is None else digits
        if scale is None or scale < 0:
            return None
        digits = 38 if digits is None else digits
        if digits - scale < 1:
            columns.fail(
                f"A decimal of {digits} digits with {scale} after the point has none before it.",
                "Give a greater precision or a smaller scale.",
            )
            return None
        return Schema.decimal(digits, scale).as_nullable

    def leaves_blank_texts(self, columns: Columns) -> bool:
        """Return whether the converted column may hold blank texts though its type is another.

        :param columns: the columns before the directive.
        """
        schema = columns.schema(self.column)
        return self._kind != "string" and (schema is None or is_text(schema))

    def map(self, value: Any) -> Any:
        kind = self._kind
        if value is None:
            return None
        if isinstance(value, str) and not value.strip(TRIM_CHARACTERS):
            return value
        try:
            made = convert_value(kind, value, _STRUCT_FORMATS.get(self._input_schema))
            if kind == "decimal":
                made = fit_decimal(made, self._scale, self._digits, self._rounding)
        except ConversionError as error:
            raise DirectiveError(
                f"column '{self.column}' cannot be converted to '{self.type}': {error}"
            ) from None
        return made

    @property
    def _rounding(self) -> str:
        return self.rounding_mode or "HALF_EVEN"

    def native(self, frame: Frame) -> None:
        if frame.columns.find(self.column) is None:
            return
        kind = self._kind
        schema = require_column(frame, self.column)
        if kind == "decimal":
            raise NoNativeFormError("Spark's decimals have other digits")
        value = frame.column(self.column)
        if is_text(schema):
            self._from_text(frame, kind, schema, value)
        elif schema.non_nullable in (Schema.INT, Schema.LONG):
            made = _from_whole(kind, value)
            frame.put(self.column, made, _make_like(_SCHEMAS[kind], schema))
        elif schema.non_nullable != _SCHEMAS[kind]:
            raise NoNativeFormError(
                f"Spark converts {schema.non_nullable.display_name} in another way"
            )

    def _from_text(self, frame: Frame, kind: str, schema: Schema, value: Column) -> None:
        from pyspark.sql import functions as f

        if kind == "string":
            return
        # A blank text is null here: find_blank_texts has the directive run in batches where that differs.
        is_blank = f.btrim(value, f.lit(TRIM_CHARACTERS)) == ""
        if kind == "bytes":
            made = f.encode(value, "UTF-8")
        elif kind == "bool":
            made = f.lower(value) == "true"
        elif kind in ("float", "double"):
            made = read_real(value, kind)
        else:
            spark = {"int": "int", "short": "smallint", "long": "bigint"}[kind]
            made = read_whole(value, spark)
        if kind not in ("bytes", "bool"):
            shown = f.substring(value, 1, 80)
            frame.fail_where(
                made.isNull() & ~is_blank,
                f.concat(
                    f.lit(f"column '{self.column}' cannot be converted to '{self.type}': '"),
                    shown,
                    f.lit("' is not a number of that type"),
                ),
            )
        made = f.when(~is_blank, made.cast("int") if kind == "short" else made)
        frame.put(self.column, made, _SCHEMAS[kind].as_nullable)


def _make_like(made: Schema, schema: Schema) -> Schema:
    return made.as_nullable if schema.is_nullable else made


def _from_whole(kind: str, value: Column) -> Column:
    """Convert a whole number to another type, narrowed to its low bits."""
    match kind:
        case "int":
            return _wrap(value, 32).cast("int")
        case "short":
            return _wrap(value, 16).cast("int")
        case "long":
            return value.cast("bigint")
        case "float" | "double" | "string":
            return value.cast(kind)
        case "bool":
            return value > 0
        case _:
            raise NoNativeFormError("Spark writes the bytes of numbers in another way")


def _wrap(value: Column, bits: int) -> Column:
    from pyspark.sql import functions as f

    low = value.cast("bigint").bitwiseAND(f.lit((1 << bits) - 1).cast("bigint"))
    return f.when(low >= 1 << (bits - 1), low - (1 << bits)).otherwise(low)
