"""What the Spark form of an expression is put together from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.inference import WHOLE
from localcdap.plugin_lib.jexl.tree import Node

if TYPE_CHECKING:
    from pyspark.sql import Column

NUMBERS: Final = (*WHOLE, Schema.DOUBLE)


class NoNativeError(Exception):
    """A node has no equal in Spark."""


@dataclass(frozen=True, slots=True)
class Part:
    """The Spark form of a node."""

    column: Column
    type: Schema
    """Without null; ``Schema.NULL`` for the constant null."""
    nullable: bool = True
    failing: Column | None = None
    """True on the rows for which the batch form raises (never null); None: it never does."""
    bits: int = 0
    """Of a whole number: its magnitude is below 2 to this."""

    @property
    def is_text(self) -> bool:
        return self.type == Schema.STRING


PartOf = Callable[[Node], Part]
"""Gives the Spark form of a node, and raises :class:`NoNativeError` where it has none."""


def either(*conditions: Column | None) -> Column | None:
    """True where any of the conditions is; None when none can be."""
    joint: Column | None = None
    for condition in conditions:
        if condition is not None:
            joint = condition if joint is None else joint | condition
    return joint


def both(first: Column, second: Column | None) -> Column | None:
    """True where both are; None when the second can not be."""
    return None if second is None else first & second


def certain(column: Column, *parts: Part) -> Part:
    """A bool that is never null, failing where a part does."""
    return Part(column, Schema.BOOLEAN, False, either(*(part.failing for part in parts)))


def is_null(part: Part) -> Column:
    from pyspark.sql import functions as f

    if part.type == Schema.NULL:
        return f.lit(True)
    return part.column.isNull() if part.nullable else f.lit(False)


def fails_on_null(part: Part) -> Column | None:
    """Where a null, or what fails already, is an error."""
    null = is_null(part) if part.nullable else None
    return either(part.failing, null)
