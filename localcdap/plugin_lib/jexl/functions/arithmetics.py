"""``arithmetic:`` and ``logical:``: the original's ``Arithmetic`` and its bit functions ``Logical``."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any

from localcdap.java.numbers import wrap
from localcdap.java.strings import format_double
from localcdap.plugin_lib.jexl.functions.decimals import (
    EXACT,
    divide,
    get_remainder,
    multiply_exactly,
    scale_of,
    strip_zeros,
    with_scale,
)
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

# ruff: noqa: N802 - functions have the names that expressions call them by

arithmetic = FunctionNamespace("arithmetic")


def _find_widest_type(values: tuple[Any, ...]) -> type | None:
    """Return the widest type of the values: Decimal, float or int; None if a value is null."""
    if any(value is None for value in values):
        return None
    kinds = [kind for kind in (Decimal, float) if any(isinstance(v, kind) for v in values)]
    return kinds[0] if kinds else int


def _to_decimal(value: Any) -> Decimal:
    return Decimal(format_double(value)) if isinstance(value, float) else Decimal(value)


def _convert(kind: type, values: tuple[Any, ...]) -> list[Any]:
    return [_to_decimal(value) if kind is Decimal else kind(value) for value in values]


@arithmetic("N* -> O")
def add(*values: Any) -> Any:
    kind = _find_widest_type(values)
    if kind is None:
        return None
    operands = _convert(kind, values)
    if kind is not Decimal:
        return sum(operands, kind(0))
    total = Decimal(0)
    for operand in operands:
        total = EXACT.add(total, operand)
    return strip_zeros(total)


@arithmetic("N N -> O")
def minus(first: Any, second: Any) -> Any:
    kind = _find_widest_type((first, second))
    if kind is None:
        return None
    x, y = _convert(kind, (first, second))
    return strip_zeros(EXACT.subtract(x, y)) if kind is Decimal else x - y


@arithmetic("N* -> O")
def multiply(*values: Any) -> Any:
    kind = _find_widest_type(values)
    if kind is None:
        return None
    product: Any = kind(1)
    for operand in _convert(kind, values):
        product = multiply_exactly(product, operand) if kind is Decimal else product * operand
    return product


@arithmetic("N N -> O")
def divideq(dividend: Any, divisor: Any) -> Any:
    kind = _find_widest_type((dividend, divisor))
    if kind is None or float(divisor) == 0:
        return None
    if kind is Decimal:
        return strip_zeros(divide(_to_decimal(dividend), _to_decimal(divisor)))
    return float(dividend) / float(divisor)


@arithmetic("N N -> O")
def divider(dividend: Any, divisor: Any) -> Any:
    kind = _find_widest_type((dividend, divisor))
    if kind is None or float(divisor) == 0:
        return None
    x, y = _convert(kind, (dividend, divisor))
    if kind is Decimal:
        return get_remainder(x, y)
    if kind is float:
        return math.nan if math.isinf(x) else math.fmod(x, y)
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


@arithmetic("N N -> O")
def lcm(first: Any, second: Any) -> Any:
    kind = _find_widest_type((first, second))
    if kind is None:
        return None
    x, y = _to_decimal(first), _to_decimal(second)
    if kind is int:
        return math.lcm(int(x), int(y))
    power = max(scale_of(x), scale_of(y), 0)
    whole = [int(value.scaleb(power, EXACT)) for value in (x, y)]
    common = math.gcd(*whole)
    if common == 0:
        return kind(0)
    scale = min(scale_of(x), scale_of(y))
    exact = Fraction(abs(whole[0] * whole[1]), common * 10**power)
    result = EXACT.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return kind(with_scale(result, scale, ROUND_HALF_EVEN))


@arithmetic("N* -> B?")
def equal(*values: Any) -> bool | None:
    """Return whether all values are equal; null if a null comes before the first difference."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        raise ValueError("the values are of different types")
    for value in values:
        if value is None:
            return None
        if value != values[0] or _get_scale(value) != _get_scale(values[0]):
            return False
    return True


def _get_scale(value: Any) -> int:
    return scale_of(value) if isinstance(value, Decimal) else 0


@arithmetic("N* -> O")
def max_(*values: Any) -> Any:
    kind = _find_widest_type(values)
    return None if kind is None else max(_convert(kind, values))


@arithmetic("N* -> O")
def min_(*values: Any) -> Any:
    kind = _find_widest_type(values)
    return None if kind is None else min(_convert(kind, values))


@arithmetic("N* -> O")
def average(*values: Any) -> Any:
    """Return the average of the values that are not null.

    A running mean is updated with each value, so that no sum can overflow.
    """
    mean: Any = 0.0
    count = 0
    for value in values:
        if value is None:
            continue
        count += 1
        if isinstance(value, Decimal) and not isinstance(mean, Decimal):
            mean = Decimal(format_double(mean)) if count > 1 else Decimal(0)
        if isinstance(mean, Decimal):
            distance = EXACT.subtract(_to_decimal(value), mean)
            mean = EXACT.add(mean, divide(distance, Decimal(count)))
        else:
            mean += (float(value) - mean) / count
    return mean if count else None


logical = FunctionNamespace("logical")


@logical("L L -> L")
def BitAnd(first: int, second: int) -> int:
    return first & second


@logical("L L -> L")
def BitOr(first: int, second: int) -> int:
    return first | second


@logical("L L -> L")
def BitXor(first: int, second: int) -> int:
    return first ^ second


@logical("S -> I", "Not")
def not_text(value: str | None) -> int:
    return 0 if value else 1


@logical("D -> I", "Not")
def not_number(value: float) -> int:
    return 1 if value == 0 else 0


@logical("S -> L")
def BitCompress(value: str | None) -> int:
    digits = value or ""
    if not digits or digits.strip("01") or len(digits.lstrip("0")) > 64:
        raise ValueError(f"'{value}' is not a binary number of 64 bits at most")
    return wrap(int(digits, 2), 64)


@logical("L -> S!")
def BitExpand(value: int) -> str:
    return format(value & ((1 << 64) - 1), "b")


@logical("L A I -> L")
def SetBit(value: int, positions: Any, bit: int) -> int:
    """Set bits, which are counted from 1.

    As in the original, the mask is an int, so bit 32 also sets all higher bits.
    """
    if positions is None:
        raise ValueError("the positions are null")
    for position in positions:
        mask = wrap(1 << ((int(position) - 1) & 31), 32)
        value = value | mask if bit > 0 else value & ~mask
    return wrap(value, 64)
