"""The Spark form of a whole expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.native import functions, operators
from localcdap.plugin_lib.jexl.native.parts import (
    Fields,
    NoNativeError,
    Part,
    PartOf,
    build_constant,
)
from localcdap.plugin_lib.jexl.tree import Node, list_local_names
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import Column


@dataclass(frozen=True, slots=True)
class NativeExpression:
    """An expression over the columns of a DataFrame."""

    column: Column
    type: Schema
    """The type. It is nullable if a row can have null; failing rows have null in any case."""
    failing: Column | None
    """A column that is true on the rows for which the batch form raises an error (never null); None: on no
    row.
    """


def build_native(
    root: Node, schema: Schema, column: Callable[[str], Column] | None
) -> NativeExpression | None:
    """Return the Spark form of an expression, or None if it has none.

    :param schema: a record of all columns; any other name is a missing column, and null.
    """
    if len(root.parts) != 1 or list_local_names(root):
        return None
    from pyspark.sql import functions as f

    try:
        part = _build_part(Fields(schema, column or get_column))(root.parts[0])
    except NoNativeError:
        return None
    if part.type == Schema.NULL:
        return None
    value = part.column
    if part.failing is not None:
        value = f.when(~part.failing, value)
    shown = part.type.as_nullable if part.nullable else part.type
    return NativeExpression(value, shown, part.failing)


def _build_part(fields: Fields) -> PartOf:
    def of(node: Node) -> Part:
        if node.kind in ("name", "member"):
            return fields.find_part(node)
        make = _BY_KIND.get(node.kind)
        if make is None:
            raise NoNativeError
        return make(of, node)

    return of


_BY_KIND: Final[dict[str, Callable[[PartOf, Node], Part]]] = {
    "constant": lambda _, node: build_constant(node.value),
    "group": lambda of, node: of(node.parts[0]),
    "unary": operators.build_unary,
    "binary": operators.build_binary,
    "chain": operators.chain,
    "ternary": operators.build_ternary,
    "elvis": operators.build_elvis,
    "coalesce": operators.build_null_coalescing,
    "call": functions.call,
    "method": functions.build_method,
}
