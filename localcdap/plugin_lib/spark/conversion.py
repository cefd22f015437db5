"""Columns converted to the types of a schema: typed columns, and the texts of delimited files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import LogicalType, Schema, SparkContext, Type
from localcdap.java.numbers import DOUBLE
from localcdap.plugin_lib.spark.columns import (
    allows_null,
    build_failure,
    get_column,
    require_value,
    to_ddl,
    to_spark_type,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_WHOLE: Final = frozenset(("tinyint", "smallint", "int", "bigint"))
_NUMBERS: Final = _WHOLE | {"float", "double", "decimal"}
_TIMESTAMPS: Final = frozenset(("timestamp", "timestamp_ntz"))
_TEXTS: Final = frozenset(("string", "binary"))
_DATE: Final = r"^\s*(?:[0-9]{4}|[+-][0-9]{4,})-[0-9]{2}-[0-9]{2}"
"""The beginning of a text with a whole date: Spark would complete ``2024``, ``2024-05`` and ``45123``."""

_NANOS: Final = r"\.[0-9]{6}[0-9]*[1-9]"
"""A fraction of a second of more than microseconds."""


def conform_columns(context: SparkContext, df: DataFrame, schema: Schema) -> list[Column]:
    """Convert the columns of a DataFrame to the fields of a schema.

    Fields that the DataFrame lacks are null. Numbers are converted to other numeric types. A value that does
    not fit fails the run, also in a nested field: a fraction for a whole number, a decimal with more digits
    than the field has, or a number out of range. Only floating-point numbers are rounded.

    :raises StageError: when a non-nullable field is missing, or a column's type cannot be converted.
    """
    from pyspark.sql import functions as F  # noqa: N812

    found = {each.name: each.dataType for each in df.schema}
    columns = []
    for each in schema:
        actual = found.get(each.name)
        if actual is None and not allows_null(each.schema):
            raise context.fail(
                f"field '{each.name}' does not exist in the data; fields are: {', '.join(found)}.",
                f"Allow null for '{each.name}' in the schema, or remove it.",
            )
        if actual is None:
            columns.append(F.lit(None).cast(to_ddl(each.schema)).alias(each.name))
            continue
        value = _convert(context, get_column(each.name), actual, each.name, each.schema)
        if value is None:
            raise context.fail(
                f"field '{each.name}' is of type {actual.simpleString()} in the data, but its schema says "
                f"{each.schema.display_name}.",
                f"Change the type of '{each.name}' in the schema.",
            )
        columns.append(require_value(context, value, each.name, each.schema).alias(each.name))
    return columns


def _convert(
    context: SparkContext, value: Column, actual: DataType, name: str, schema: Schema
) -> Column | None:
    """Return the value as the schema's type; None when its type cannot be converted."""
    from pyspark.sql import functions as F  # noqa: N812

    given, wanted = actual.simpleString(), to_spark_type(schema)
    if given == wanted:
        return value
    if schema.type is Type.NULL:
        return F.lit(None)
    kinds = {_get_kind(given), _get_kind(wanted)}
    if given == "void" or kinds == {"time"} or kinds <= _TIMESTAMPS or kinds <= _TEXTS:
        return value.cast(to_ddl(schema))
    if kinds <= _NUMBERS:
        return convert_number(context, value, given, name, schema)
    if schema.non_nullable.type in (Type.RECORD, Type.ARRAY, Type.MAP) and len(kinds) == 1:
        return _convert_nested(context, value, actual, name, schema)
    return None


def convert_number(
    context: SparkContext, value: Column, actual: str, name: str, schema: Schema
) -> Column:
    """Return a number as another numeric type; one that does not fit fails the run.

    :param actual: the type of the value, as in ``DataFrame.dtypes``.
    """
    from pyspark.sql import functions as F  # noqa: N812

    fitting, given = value.try_cast(to_ddl(schema)), _get_kind(actual)
    wanted = _get_kind(to_spark_type(schema))
    if given == "decimal" and wanted == "decimal":
        fitting = F.when(fitting == value, fitting)
    elif wanted in _WHOLE and given not in _WHOLE:
        fitting = F.when(fitting.cast(actual) == value, fitting)
    elif wanted == "float" and given in ("double", "decimal"):
        is_finite = F.abs(fitting) != float("inf")
        fitting = F.when(is_finite | (F.abs(value.cast("double")) == float("inf")), fitting)
    message = F.concat(
        F.lit(f"Field '{name}' must be of type {_describe(schema)}, but it is "),
        value.cast("string"),
        F.lit("."),
    )
    return F.coalesce(fitting, F.when(value.isNotNull(), build_failure(context, message, schema)))


def _convert_nested(
    context: SparkContext, value: Column, actual: Any, name: str, schema: Schema
) -> Column | None:
    """Convert the parts of a nested value: those of records by name. None when a part has another type."""
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    if inner.type is Type.RECORD:
        found = {each.name: each.dataType for each in actual.fields}
        parts = []
        for each in inner:
            if each.name not in found:
                return None
            part = _convert(
                context, value[each.name], found[each.name], f"{name}.{each.name}", each.schema
            )
            if part is None:
                return None
            parts.append(part.alias(each.name))
        return F.when(value.isNotNull(), F.struct(*parts))
    if inner.type is Type.ARRAY:
        assert inner.items is not None
        return _convert_elements(context, value, actual.elementType, name, inner.items, F.transform)
    assert inner.keys is not None
    assert inner.values is not None
    keys = _convert_elements(
        context,
        value,
        actual.keyType,
        name,
        inner.keys,
        lambda values, convert: F.transform_keys(values, lambda key, _: convert(key)),
    )
    if keys is None:
        return None
    return _convert_elements(
        context,
        keys,
        actual.valueType,
        name,
        inner.values,
        lambda values, convert: F.transform_values(values, lambda _, each: convert(each)),
    )


def _convert_elements(
    context: SparkContext,
    values: Column,
    actual: DataType,
    name: str,
    schema: Schema,
    transform: Callable[[Column, Callable[[Column], Column]], Column],
) -> Column | None:
    """Convert each element of an array, or each key or value of a map."""
    from pyspark.sql import functions as F  # noqa: N812

    if actual.simpleString() == to_spark_type(schema):
        return values
    if _convert(context, F.lit(None), actual, name, schema) is None:
        return None

    def convert(element: Column) -> Column:
        converted = _convert(context, element, actual, name, schema)
        assert converted is not None  # found out above
        return converted

    return transform(values, convert)


def _describe(schema: Schema) -> str:
    """Return the name of a type, of a decimal with its digits."""
    inner = schema.non_nullable
    if inner.precision is None:
        return inner.display_name
    return f"decimal({inner.precision}, {inner.scale or 0})"


def _get_kind(type: str) -> str:
    return type.partition("(")[0].partition("<")[0]


def read_real(text: Column, kind: str = "double") -> Column:
    """Parse texts as Java's ``parseDouble`` or ``parseFloat``; other texts become null.

    :param kind: ``double`` or ``float``.
    """
    from pyspark.sql import functions as F  # noqa: N812

    value = text.try_cast(kind)
    # Spark takes more: nan, inf and infinity in any case. A pattern costs more than a cast.
    is_finite = F.abs(value) < float("inf")
    return F.when(is_finite, value).when(text.rlike(rf"\A{DOUBLE}\z"), value)


def read_whole(text: Column, kind: str = "bigint") -> Column:
    """Parse texts as Java's ``parseLong`` or ``parseInt``; other texts become null.

    :param kind: ``bigint``, ``int`` or ``smallint``.
    """
    from pyspark.sql import functions as F  # noqa: N812

    plain = F.when(text.rlike(r"\A[+-]?[0-9]+\z"), text.try_cast(kind))
    ascii_digits = F.translate(text, *_list_other_digits())
    return plain.when(text.rlike(r"\A[+-]?\p{Nd}+\z"), ascii_digits.try_cast(kind))


@functools.cache
def _list_other_digits() -> tuple[str, str]:
    """Return the digits of one UTF-16 unit outside of ASCII, and those of ASCII for them."""
    digits = [chr(code) for code in range(0x80, 0x10000) if chr(code).isdecimal()]
    return "".join(digits), "".join(str(int(digit)) for digit in digits)


def from_text(text: Column, schema: Schema) -> Column:
    """Parse a text as a value of the schema; null when it is not one. Numbers may have blanks around them.

    Dates and times are ISO 8601, bytes are Base64.
    """
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    if inner.type is Type.ENUM:
        return F.when(text.isin(list(inner.symbols)), text)
    match inner.logical_type or inner.type:
        case Type.STRING:
            return text
        case Type.BOOLEAN:
            word = F.lower(F.trim(text))
            return F.when(word == "true", True).when(word == "false", False)
        case Type.BYTES:
            return F.try_to_binary(text, F.lit("base64"))
        case LogicalType.DECIMAL:
            # A cast would round without an error.
            return F.when(_has_scale(text, inner.scale or 0), text.try_cast(to_ddl(inner)))
        case Type.FLOAT | Type.DOUBLE:
            return read_real(text, to_ddl(inner))
        case LogicalType.DATE:
            return F.when(text.rlike(rf"{_DATE}\s*$"), text.try_cast("date"))
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return F.when(text.rlike(_DATE), text.try_cast(to_ddl(inner)))
        case LogicalType.DATETIME:
            # A cast would leave out a time zone without an error.
            return F.when(
                text.rlike(rf"{_DATE}(?:[T ][0-9:.]*)?\s*$"), text.try_cast(to_ddl(inner))
            )
        case _:
            return text.try_cast(to_ddl(inner))


def loses_digits(text: Column, value: Column, schema: Schema) -> Column | None:
    """Return whether :func:`from_text` gave less than a text says; None if it never does.

    Times have microseconds, and a number becomes infinite or zero beyond the range of its type. Few texts are
    as long as one that loses something, or become infinite or zero: the others need no regular expression.

    :param value: what it gave.
    """
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    match inner.logical_type or inner.type:
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS | LogicalType.DATETIME:
            return (F.length(text) > len("yyyy-mm-ddThh:mm:ss.ffffff")) & text.rlike(_NANOS)
        case LogicalType.TIME_MILLIS | LogicalType.TIME_MICROS:
            return (F.length(text) > len("hh:mm:ss.ffffff")) & text.rlike(_NANOS)
        case Type.FLOAT | Type.DOUBLE:
            is_infinite = (F.abs(value) == float("inf")) & ~F.endswith(text, F.lit("Infinity"))
            is_long = F.length(text) > len("0.00")
            return is_infinite | ((value == 0) & is_long & text.rlike("^[^eEpP]*[1-9]"))
    return None


def _has_scale(text: Column, scale: int) -> Column:
    """Whether a number, if the text is one, has no digits but zeros after as many decimals as ``scale``."""
    from pyspark.sql import functions as F  # noqa: N812

    def extract(pattern: str) -> Column:
        return F.regexp_extract(text, pattern, 1)

    too_fine = text.rlike(rf"\.[0-9]{{{scale}}}[0-9]*[1-9]")
    mantissa = extract(r"^\s*[+-]?([0-9]*\.?[0-9]*)[eE]")
    digits = F.replace(mantissa, F.lit("."), F.lit(""))
    fraction = F.length(extract(r"\.([0-9]*)[eE]"))
    zeros = F.length(digits) - F.length(F.rtrim(digits, F.lit("0")))
    exponent = extract(r"[eE]([+-]?[0-9]+)\s*$").try_cast("int")
    decimals = fraction - zeros - exponent
    is_zero = F.ltrim(digits, F.lit("0")) == ""
    return F.when(text.rlike("[eE]"), is_zero | (decimals <= scale)).otherwise(~too_fine)


def to_text(value: Column, schema: Schema) -> Column:
    """Format a value as :func:`from_text` parses it; null stays null."""
    from pyspark.sql import functions as F  # noqa: N812

    inner = schema.non_nullable
    match inner.logical_type or inner.type:
        case Type.STRING | Type.ENUM:
            return value
        case Type.BYTES:
            return F.base64(value)
        case LogicalType.TIMESTAMP_MILLIS | LogicalType.TIMESTAMP_MICROS:
            return F.concat(F.replace(value.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))
        case LogicalType.DATETIME:
            return F.replace(value.cast("string"), F.lit(" "), F.lit("T"))
        case _:
            return value.cast("string")
