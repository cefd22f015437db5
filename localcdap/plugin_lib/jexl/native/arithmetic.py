"""Arithmetic and the choice of one value out of several, as Spark columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import add, mod, mul, sub, truediv
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.native.parts import (
    NUMBERS,
    NoNativeError,
    Part,
    find_null_failures,
    join_any,
    join_both,
    to_double,
    to_long,
    to_text,
)
from localcdap.plugin_lib.jexl.types import WHOLE

if TYPE_CHECKING:
    from pyspark.sql import Column


_OPERATORS: Final = {"+": add, "-": sub, "*": mul, "/": truediv, "%": mod}


def build_arithmetic(symbol: str, left: Part, right: Part) -> Part:
    """Build ``+``, ``-``, ``*``, ``/`` or ``%``."""
    failing = join_any(find_null_failures(left), find_null_failures(right))
    if Schema.NULL in (left.type, right.type):
        raise NoNativeError
    if symbol == "+" and (left.is_text or right.is_text):
        return _build_concatenation(left, right, failing)
    if left.type not in NUMBERS or right.type not in NUMBERS:
        raise NoNativeError
    if Schema.DOUBLE in (left.type, right.type):
        return _build_double_arithmetic(symbol, left, right, failing)
    return _build_whole_arithmetic(symbol, left, right, failing)


def build_negation(part: Part) -> Part:
    number = _require_signed_number(part)
    return replace(number, column=-number.column, failing=find_null_failures(part))


def build_absolute(part: Part) -> Part:
    from pyspark.sql import functions as f

    number = _require_signed_number(part)
    return replace(number, column=f.abs(number.column), failing=find_null_failures(part))


def _require_signed_number(part: Part) -> Part:
    """Return the part if it is a number whose negation has the same type."""
    if part.type not in NUMBERS or part.bits > 62:
        raise NoNativeError
    return part if part.type == Schema.DOUBLE else to_long(part)


def _build_concatenation(left: Part, right: Part, failing: Column | None) -> Part:
    from pyspark.sql import functions as f

    a, b = to_text(left), to_text(right)
    nullable = left.nullable or right.nullable
    return Part(f.concat(a.column, b.column), Schema.STRING, nullable, failing)


def _build_double_arithmetic(symbol: str, left: Part, right: Part, failing: Column | None) -> Part:
    a, b = to_double(left).column, to_double(right).column
    if symbol in ("/", "%"):
        b, failing = _guard_divisor(b, failing)
    return Part(_OPERATORS[symbol](a, b), Schema.DOUBLE, True, failing)


def _build_whole_arithmetic(symbol: str, left: Part, right: Part, failing: Column | None) -> Part:
    from pyspark.sql import functions as f

    a, b = left.column.cast("bigint"), right.column.cast("bigint")
    bits = _count_bits(symbol, left.bits, right.bits)
    if bits > 63:
        raise NoNativeError
    if symbol in ("/", "%"):
        b, failing = _guard_divisor(b, failing)
    column = f.call_function("div", a, b) if symbol == "/" else _OPERATORS[symbol](a, b)
    if symbol == "%" and left.type == right.type == Schema.INT:
        return Part(column.cast("int"), Schema.INT, True, failing, bits)
    return Part(column, Schema.LONG, True, failing, bits)


def _count_bits(symbol: str, left: int, right: int) -> int:
    """Return the most bits that a result can have."""
    if symbol == "*":
        return left + right
    if symbol == "/":
        return left
    return min(left, right) if symbol == "%" else max(left, right) + 1


def _guard_divisor(number: Column, failing: Column | None) -> tuple[Column, Column | None]:
    """Return the divisor with null for 0, and the failures with the rows where it is 0."""
    from pyspark.sql import functions as f

    is_zero = f.coalesce(number == 0, f.lit(False))
    return f.when(number != 0, number), join_any(failing, is_zero)


def build_coalesce(parts: Sequence[Part]) -> Part:
    """Build a coalesce. All parts are evaluated, so all may fail."""
    from pyspark.sql import functions as f

    kind, columns = _unify_types(parts)
    failing = join_any(*(part.failing for part in parts))
    nullable = all(part.nullable for part in parts)
    bits = max(part.bits for part in parts)
    return Part(f.coalesce(*columns), kind, nullable, failing, bits)


def build_choice(source: Part, condition: Column, then: Part, otherwise: Part) -> Part:
    """Build the choice of one of two parts; a part fails only where it is chosen.

    :param source: the part that the condition is made of, which may fail.
    """
    from pyspark.sql import functions as f

    kind, columns = _unify_types((then, otherwise))
    failing = join_any(
        source.failing, join_both(condition, then.failing), join_both(~condition, otherwise.failing)
    )
    column = f.when(condition, columns[0]).otherwise(columns[1])
    bits = max(then.bits, otherwise.bits)
    return Part(column, kind, then.nullable or otherwise.nullable, failing, bits)


def _unify_types(parts: Sequence[Part]) -> tuple[Schema, list[Column]]:
    """Return the common type of all parts, and their columns in this type; an int among longs becomes a
    long.
    """
    types = {part.type for part in parts} - {Schema.NULL}
    if types == set(WHOLE):
        return Schema.LONG, [part.column.cast("bigint") for part in parts]
    if len(types) > 1:
        raise NoNativeError
    return next(iter(types), Schema.NULL), [part.column for part in parts]
