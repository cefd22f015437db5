"""One value out of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.inference import WHOLE
from localcdap.plugin_lib.jexl.native.part import NoNativeError, Part, both, either

if TYPE_CHECKING:
    from pyspark.sql import Column


def first_not_null(parts: Sequence[Part]) -> Part:
    """All parts are evaluated, so all may fail."""
    from pyspark.sql import functions as f

    kind, columns = _alike(parts)
    failing = either(*(part.failing for part in parts))
    nullable = all(part.nullable for part in parts)
    bits = max(part.bits for part in parts)
    return Part(f.coalesce(*columns), kind, nullable, failing, bits)


def chosen(source: Part, condition: Column, then: Part, otherwise: Part) -> Part:
    """One of two, which fails only where it is chosen.

    :param source: what the condition is of, which may fail.
    """
    from pyspark.sql import functions as f

    kind, columns = _alike((then, otherwise))
    failing = either(
        source.failing, both(condition, then.failing), both(~condition, otherwise.failing)
    )
    column = f.when(condition, columns[0]).otherwise(columns[1])
    bits = max(then.bits, otherwise.bits)
    return Part(column, kind, then.nullable or otherwise.nullable, failing, bits)


def _alike(parts: Sequence[Part]) -> tuple[Schema, list[Column]]:
    """The one type of all parts and the columns as it; an int among longs is a long."""
    types = {part.type for part in parts} - {Schema.NULL}
    if types == set(WHOLE):
        return Schema.LONG, [part.column.cast("bigint") for part in parts]
    if len(types) > 1:
        raise NoNativeError
    return next(iter(types), Schema.NULL), [part.column for part in parts]
