"""The Spark form of a part of an expression: its column, its type, and the rows on which it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import LogicalType, Schema
from localcdap.plugin_lib.jexl.parser import Node, find_plain_path
from localcdap.plugin_lib.jexl.types import WHOLE, find_field
from localcdap.plugin_lib.spark.conversion import read_real, read_whole

if TYPE_CHECKING:
    from pyspark.sql import Column


NUMBERS: Final = (*WHOLE, Schema.DOUBLE)


class NoNativeError(Exception):
    """A node has no equivalent in Spark."""


@dataclass(frozen=True, slots=True)
class Part:
    """The Spark form of a node."""

    column: Column
    type: Schema
    """The type without null; ``Schema.NULL`` for the constant null."""
    nullable: bool = True
    failing: Column | None = None
    """A column that is true on the rows for which the batch form raises an error (never null); None: on no
    row.
    """
    bits: int = 0
    """The number of bits of a whole number: its magnitude is below 2 to this power."""

    @property
    def is_text(self) -> bool:
        return self.type == Schema.STRING


PartOf = Callable[[Node], Part]
"""Returns the Spark form of a node, or raises :class:`NoNativeError` if it has none."""


def join_any(*conditions: Column | None) -> Column | None:
    """Return "any of the conditions"; None if there are none."""
    joint: Column | None = None
    for condition in conditions:
        if condition is not None:
            joint = condition if joint is None else joint | condition
    return joint


def join_both(first: Column, second: Column | None) -> Column | None:
    """Return "both conditions"; None if there is no second one."""
    return None if second is None else first & second


def build_boolean(column: Column, *parts: Part) -> Part:
    """Return a bool part that is never null and fails where one of the parts fails."""
    return Part(column, Schema.BOOLEAN, False, join_any(*(part.failing for part in parts)))


def is_null(part: Part) -> Column:
    from pyspark.sql import functions as f

    if part.type == Schema.NULL:
        return f.lit(True)
    return part.column.isNull() if part.nullable else f.lit(False)


def find_null_failures(part: Part) -> Column | None:
    """Return the condition of the rows on which the part is null or fails."""
    null = is_null(part) if part.nullable else None
    return join_any(part.failing, null)


def build_constant(value: object) -> Part:
    from pyspark.sql import functions as f

    if value is None:
        return Part(f.lit(None), Schema.NULL)
    if isinstance(value, bool):
        return Part(f.lit(value), Schema.BOOLEAN, nullable=False)
    if isinstance(value, str):
        return Part(f.lit(value), Schema.STRING, nullable=False)
    if isinstance(value, Decimal):
        raise NoNativeError
    if isinstance(value, float):
        return Part(f.lit(value), Schema.DOUBLE, nullable=False)
    assert isinstance(value, int)
    bits = abs(value).bit_length()
    if bits > 63:
        raise NoNativeError
    kind, spark = (Schema.INT, "int") if -(2**31) <= value < 2**31 else (Schema.LONG, "bigint")
    return Part(f.lit(value).cast(spark), kind, nullable=False, bits=bits)


class Fields:
    """The columns of a DataFrame, found by the names in an expression."""

    def __init__(self, schema: Schema, column: Callable[[str], Column]) -> None:
        self._schema = schema
        self._column = column

    def find_part(self, node: Node) -> Part:
        """Return the column of a name or a dotted name; null if there is none."""
        return self._find_field(node.value if node.kind == "name" else self._get_dotted_name(node))

    def _find_field(self, name: str) -> Part:
        if name in ("this", "ctx"):
            raise NoNativeError
        found = find_field(self._schema, name)
        if found is None:
            return build_constant(None)
        real, schema = found
        bits = {Schema.INT: 32, Schema.LONG: 64}.get(schema.non_nullable, 0)
        return Part(self._column(real), schema.non_nullable, schema.is_nullable, None, bits)

    def _get_dotted_name(self, node: Node) -> str:
        """Return ``a.b`` if there is no column ``a`` whose field it could be."""
        dotted = find_plain_path(node)
        if dotted is None:
            raise NoNativeError
        names = dotted.split(".")
        prefixes = [".".join(names[: at + 1]) for at in range(len(names) - 1)]
        if any(find_field(self._schema, prefix) is not None for prefix in prefixes):
            raise NoNativeError
        return dotted


_FLOATING: Final = (Schema.FLOAT, Schema.DOUBLE)


def to_truth(part: Part) -> Column:
    """Return the part as a bool, with false for null; its failures are reported separately."""
    from pyspark.sql import functions as f

    if part.type == Schema.NULL:
        return f.lit(False)
    if part.type == Schema.BOOLEAN:
        value = part.column
    elif part.is_text:
        value = (part.column != "") & (part.column != "false")
    elif part.type in (*WHOLE, *_FLOATING) or part.type.logical_type is LogicalType.DECIMAL:
        value = part.column != 0
        if part.type in _FLOATING:
            value = value & ~f.isnan(part.column)
    else:
        value = part.column.isNotNull()
    return f.coalesce(value, f.lit(False)) if part.nullable else value


def to_long(part: Part) -> Part:
    """Convert a part to a long; an empty text is 0, and any other text that is not a number fails."""
    from pyspark.sql import functions as f

    if part.type in WHOLE:
        return replace(part, column=part.column.cast("bigint"), type=Schema.LONG)
    if part.type == Schema.BOOLEAN:
        number = part.column.cast("int").cast("bigint")
        return replace(part, column=number, type=Schema.LONG, bits=1)
    if not part.is_text:
        raise NoNativeError
    text = part.column
    read = f.when(text == "", f.lit(0).cast("bigint")).otherwise(read_whole(text))
    wrong = text.isNotNull() & read.isNull()
    return Part(read, Schema.LONG, True, join_any(part.failing, wrong), 64)


def to_double(part: Part) -> Part:
    """Convert a part to a double, as Java reads it; an empty text is NaN."""
    from pyspark.sql import functions as f

    if part.type in NUMBERS:
        return replace(part, column=part.column.cast("double"), type=Schema.DOUBLE)
    if part.type == Schema.BOOLEAN:
        return replace(part, column=part.column.cast("int").cast("double"), type=Schema.DOUBLE)
    if not part.is_text:
        raise NoNativeError
    text = part.column
    read = f.when(text == "", f.lit(float("nan"))).otherwise(read_real(text))
    wrong = text.isNotNull() & read.isNull()
    return Part(read, Schema.DOUBLE, True, join_any(part.failing, wrong))


def to_text(part: Part) -> Part:
    """Convert a part to text; doubles are excluded, because Java and Spark write them differently."""
    if part.is_text:
        return part
    if part.type in WHOLE or part.type == Schema.BOOLEAN:
        return replace(part, column=part.column.cast("string"), type=Schema.STRING, bits=0)
    raise NoNativeError
