"""Constants, and the fields of a row."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.inference import find_field
from localcdap.plugin_lib.jexl.native.part import NoNativeError, Part
from localcdap.plugin_lib.jexl.tree import Node, plain_path

if TYPE_CHECKING:
    from pyspark.sql import Column


def constant(value: object) -> Part:
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
    """The columns that names mean."""

    def __init__(self, schema: Schema, column: Callable[[str], Column]) -> None:
        self._schema = schema
        self._column = column

    def of(self, node: Node) -> Part:
        """The column of a name, or of a dotted one; null where there is none."""
        return self._field(node.value if node.kind == "name" else self._dotted_name(node))

    def _field(self, name: str) -> Part:
        if name in ("this", "ctx"):
            raise NoNativeError
        found = find_field(self._schema, name)
        if found is None:
            return constant(None)
        real, schema = found
        bits = {Schema.INT: 32, Schema.LONG: 64}.get(schema.non_nullable, 0)
        return Part(self._column(real), schema.non_nullable, schema.is_nullable, None, bits)

    def _dotted_name(self, node: Node) -> str:
        """``a.b`` where there is no column ``a``, of which it could be a part."""
        dotted = plain_path(node)
        if dotted is None:
            raise NoNativeError
        names = dotted.split(".")
        prefixes = [".".join(names[: at + 1]) for at in range(len(names) - 1)]
        if any(find_field(self._schema, prefix) is not None for prefix in prefixes):
            raise NoNativeError
        return dotted
