"""Arithmetic, comparisons, patterns, sizes and the choice of one value out of several, as Spark columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import add, mod, mul, sub, truediv
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import Schema
from localcdap.java.regex import compile_regex, has_nested_repeats
from localcdap.plugin_lib.jexl.native.parts import (
    NUMBERS,
    NoNativeError,
    Part,
    build_boolean,
    find_null_failures,
    is_null,
    join_any,
    join_both,
    to_double,
    to_long,
    to_text,
    to_truth,
)
from localcdap.plugin_lib.jexl.parser import Node
from localcdap.plugin_lib.jexl.types import WHOLE
from localcdap.plugin_lib.spark.text_units import count_units

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
    if symbol == "%":
        # BigInteger.mod, which is never negative and has no negative modulus
        failing = join_any(failing, f.coalesce(b <= 0, f.lit(False)))
        column = f.pmod(a, f.when(b > 0, b))
        if left.type == right.type == Schema.INT:
            return Part(column.cast("int"), Schema.INT, True, failing, bits)
        return Part(column, Schema.LONG, True, failing, bits)
    if symbol == "/":
        b, failing = _guard_divisor(b, failing)
        column = f.call_function("div", a, b)
    else:
        column = _OPERATORS[symbol](a, b)
    return Part(column, Schema.LONG, True, failing, bits)


def _count_bits(symbol: str, left: int, right: int) -> int:
    """Return the most bits that a result can have."""
    if symbol == "*":
        return left + right
    if symbol == "/":
        return left
    return right if symbol == "%" else max(left, right) + 1


def _guard_divisor(number: Column, failing: Column | None) -> tuple[Column, Column | None]:
    """Return the divisor with null for 0, and the failures with the rows where it is 0."""
    from pyspark.sql import functions as f

    is_zero = f.coalesce(number == 0, f.lit(False))
    return f.when(number != 0, number), join_any(failing, is_zero)


def build_coalesce(parts: Sequence[Part]) -> Part:
    """Build a coalesce. All parts are evaluated, so all may fail."""
    from pyspark.sql import functions as f

    kind, columns = _unify_numbers(parts)
    failing = join_any(*(part.failing for part in parts))
    nullable = all(part.nullable for part in parts)
    bits = max(part.bits for part in parts)
    return Part(f.coalesce(*columns), kind, nullable, failing, bits)


def build_choice(source: Part, condition: Column, then: Part, otherwise: Part) -> Part:
    """Build the choice of one of two parts; a part fails only where it is chosen.

    :param source: the part that the condition is made of, which may fail.
    """
    from pyspark.sql import functions as f

    kind, columns = _unify_numbers((then, otherwise))
    failing = join_any(
        source.failing, join_both(condition, then.failing), join_both(~condition, otherwise.failing)
    )
    column = f.when(condition, columns[0]).otherwise(columns[1])
    bits = max(then.bits, otherwise.bits)
    return Part(column, kind, then.nullable or otherwise.nullable, failing, bits)


def _unify_numbers(parts: Sequence[Part]) -> tuple[Schema, list[Column]]:
    """Return the common type of all parts, and their columns in this type; an int among longs becomes a
    long.
    """
    types = {part.type for part in parts} - {Schema.NULL}
    if types == set(WHOLE):
        return Schema.LONG, [part.column.cast("bigint") for part in parts]
    if len(types) > 1:
        raise NoNativeError
    return next(iter(types), Schema.NULL), [part.column for part in parts]


def build_equality(left: Part, right: Part) -> Part:
    from pyspark.sql import functions as f

    if Schema.NULL in (left.type, right.type):
        return _compare_with_null(left, right)
    if Schema.BOOLEAN in (left.type, right.type):
        return _compare_booleans(left, right)
    a, b = _unify_types(left, right)
    same = f.equal_null(a.column, b.column)
    unread = join_any(a.failing, b.failing)  # a text that is not a number has become null
    found = _build_comparison(a, b, same if unread is None else same & ~unread)
    return replace(found, failing=join_any(left.failing, right.failing, found.failing))


def build_ordering(symbol: str, left: Part, right: Part) -> Part:
    """Build ``<``, ``<=``, ``>`` or ``>=``."""
    from pyspark.sql import functions as f

    or_same = symbol in ("<=", ">=")
    if Schema.NULL in (left.type, right.type):
        return (
            _compare_with_null(left, right) if or_same else build_boolean(f.lit(False), left, right)
        )
    if left.is_text and right.is_text:
        raise NoNativeError
    a, b = _unify_types(left, right)
    if symbol in (">", ">="):
        a, b = b, a
    below = _build_less(a, b)
    found = below | (a.column == b.column) if or_same else below
    nulls = _build_null_check(a) & _build_null_check(b) if or_same else f.lit(False)
    known = a.column.isNotNull() & b.column.isNotNull()
    compared = _build_comparison(a, b, f.when(known, found).otherwise(nulls))
    return replace(compared, failing=join_any(left.failing, right.failing, compared.failing))


def _build_less(a: Part, b: Part) -> Column:
    """Build "less than". NaN is the lowest number here and the highest in Spark."""
    from pyspark.sql import functions as f

    below = a.column < b.column
    if a.type != Schema.DOUBLE:
        return below
    first, second = f.isnan(a.column), f.isnan(b.column)
    return f.when(first | second, first & ~second).otherwise(below)


def _compare_with_null(left: Part, right: Part) -> Part:
    """Build ``==`` with the constant null."""
    other = right if left.type == Schema.NULL else left
    return build_boolean(is_null(other), left, right)


def _compare_booleans(left: Part, right: Part) -> Part:
    from pyspark.sql import functions as f

    nulls = is_null(left) | is_null(right)
    same = to_truth(left) == to_truth(right)
    both_null = is_null(left) & is_null(right)
    return build_boolean(f.when(nulls, both_null).otherwise(same), left, right)


def _unify_types(left: Part, right: Part) -> tuple[Part, Part]:
    """Return both columns in the type in which they are compared."""
    if left.is_text and right.is_text:
        return left, right
    if Schema.DOUBLE in (left.type, right.type):
        return to_double(left), to_double(right)
    if left.type in WHOLE or right.type in WHOLE:
        return to_long(left), to_long(right)
    raise NoNativeError


def _build_comparison(left: Part, right: Part, column: Column) -> Part:
    """Build a comparison in which a text that is not a number fails only if the other side is not null."""
    failing = join_any(
        join_both(_require_not_null(right), left.failing),
        join_both(_require_not_null(left), right.failing),
    )
    return Part(column, Schema.BOOLEAN, False, failing)


def _require_not_null(part: Part) -> Column:
    """Return the condition "not null, or failing": a converted value may be null because it fails."""
    from pyspark.sql import functions as f

    known = part.column.isNotNull() if part.nullable else f.lit(True)
    return known if part.failing is None else known | part.failing


def _build_null_check(part: Part) -> Column:
    """Return the condition "null, and not because it fails"."""
    from pyspark.sql import functions as f

    null = part.column.isNull() if part.nullable else f.lit(False)
    return null if part.failing is None else null & ~part.failing


def build_match(left: Part, pattern: Node) -> Part:
    """Build ``=~`` with a constant pattern, which must match the whole text."""
    from pyspark.sql import functions as f

    if pattern.kind != "constant" or not isinstance(pattern.value, str):
        raise NoNativeError
    if has_nested_repeats(pattern.value) or "(?" in pattern.value.replace("(?:", ""):
        raise NoNativeError  # Spark has no limit of time, and flags mean more in one than in the other
    compile_regex(pattern.value)
    if left.type == Schema.NULL:
        return build_boolean(f.lit(False), left)
    text = to_text(left)
    found = text.column.rlike(rf"\A(?:{pattern.value})\z")
    return build_boolean(f.coalesce(found, f.lit(False)), left)


def has_affix(symbol: str, left: Part, right: Part) -> Part:
    """Build ``=^`` (begins with) or ``=$`` (ends with)."""
    from pyspark.sql import functions as f

    if not left.is_text or right.type == Schema.NULL:
        raise NoNativeError
    other = to_text(right)
    found = (left.column.startswith if symbol == "=^" else left.column.endswith)(other.column)
    nulls = is_null(left) & is_null(right)
    return build_boolean(f.coalesce(found, nulls), left, right)


def build_size(part: Part) -> Part:
    """Build ``size`` of a text: 0 for null and for failing operands."""
    from pyspark.sql import functions as f

    count = f.coalesce(count_units(part.column), f.lit(0))
    if part.failing is not None:
        count = f.when(part.failing, 0).otherwise(count)
    return Part(count, Schema.INT, False, None, 31)


def build_empty(part: Part) -> Part:
    """Build ``empty``: true for null, 0, the empty text and failing operands."""
    from pyspark.sql import functions as f

    is_empty = is_null(part)
    if part.is_text:
        is_empty = is_empty | (part.column == "")
    elif part.type in NUMBERS:
        is_empty = is_empty | (part.column == 0)
        if part.type == Schema.DOUBLE:
            is_empty = is_empty | f.isnan(part.column)
    elif part.type not in (Schema.BOOLEAN, Schema.NULL):
        raise NoNativeError
    is_empty = f.coalesce(is_empty, f.lit(True))
    column = is_empty if part.failing is None else part.failing | is_empty
    return Part(column, Schema.BOOLEAN, False)
