"""Decimals calculated as Java's ``BigDecimal`` does, with its scales."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal
from typing import Final

EXACT: Final = Context(prec=2000, rounding=ROUND_HALF_EVEN)
"""The decimal context. ``BigDecimal`` has no limit; this one stops where a value no longer fits a record.
"""


def scale_of(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "a decimal is a number"
    return -exponent


def with_scale(value: Decimal, scale: int, rounding: str) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-scale), rounding, EXACT)


def divide(dividend: Decimal, divisor: Decimal) -> Decimal:
    """Divide like ``BigDecimal.divide(divisor, ROUND_HALF_EVEN)``: the result has the dividend's scale."""
    quotient = EXACT.divide(dividend, divisor)
    return with_scale(quotient, scale_of(dividend), ROUND_HALF_EVEN)


def strip_zeros(value: Decimal) -> Decimal:
    """Remove trailing zeros like ``stripTrailingZeros``: 1200 becomes 1.2E+3, as in Java."""
    return value.normalize(EXACT) if value else Decimal(0)


def drop_zero_sign(value: Decimal) -> Decimal:
    """Return 0 for -0, which ``BigDecimal`` does not have."""
    return value or value.copy_abs()


def multiply_exactly(first: Decimal, second: Decimal) -> Decimal:
    return drop_zero_sign(EXACT.multiply(first, second))


def divide_whole(dividend: Decimal, divisor: Decimal) -> Decimal:
    """Return the whole part of a quotient like ``BigDecimal.divideToIntegralValue``.

    Its scale is that of the dividend less that of the divisor, or as near to it as the digits allow.

    :raises ValueError: when the divisor is 0.
    """
    if not divisor:
        raise ValueError("Division by zero")
    preferred = scale_of(dividend) - scale_of(divisor)
    whole = drop_zero_sign(EXACT.divide_int(dividend, divisor))
    scale = preferred
    if whole and preferred < 0:
        scale = max(preferred, scale_of(strip_zeros(whole)))
    return with_scale(whole, scale, ROUND_DOWN)


def get_remainder(dividend: Decimal, divisor: Decimal) -> Decimal:
    """Return the remainder like ``BigDecimal.remainder``, with its scale.

    :raises ValueError: when the divisor is 0.
    """
    product = multiply_exactly(divide_whole(dividend, divisor), divisor)
    return drop_zero_sign(EXACT.subtract(dividend, product))


def power(value: Decimal, exponent: int) -> Decimal:
    """Return a power like ``BigDecimal.pow``, with the scale of the exact product; 0 to the power of 0 is 1.

    :raises ValueError: when the exponent is negative, or the result has too many digits.
    """
    if not 0 <= exponent <= 999_999_999:
        raise ValueError("Invalid operation")
    digits = value.as_tuple().digits
    if len(digits) * exponent > EXACT.prec:
        raise ValueError(f"the result has more than {EXACT.prec} digits")
    unscaled = int("".join(map(str, digits))) ** exponent
    negative = value.is_signed() and exponent % 2
    return Decimal(-unscaled if negative else unscaled).scaleb(-scale_of(value) * exponent, EXACT)
