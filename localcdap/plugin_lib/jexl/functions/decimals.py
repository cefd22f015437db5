"""``decimal:`` and ``number:``: the original's ``Decimals`` and ``NumberFunctions``."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_UP, Decimal
from typing import Any

from localcdap.java import numbers
from localcdap.java.big_decimal import (
    EXACT,
    divide,
    get_remainder,
    multiply_exactly,
    power,
    scale_of,
    strip_zeros,
    with_scale,
)
from localcdap.java.strings import format_double, round_to_float
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

# ruff: noqa: N802 - functions have the names that expressions call them by

decimal = FunctionNamespace("decimal")


def _require_not_null(value: Decimal | None) -> Decimal:
    if value is None:
        raise ValueError("the decimal is null")
    return value


def _operand(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value
    if value.__class__ is int and numbers.INT_MIN <= value <= numbers.INT_MAX:
        return Decimal(value)  # the original takes no Long
    if value.__class__ is float:
        return Decimal(format_double(value))
    raise ValueError("the second value is not an int, a double or a decimal")


@decimal("M O -> M!")
def add(value: Decimal | None, other: Any) -> Decimal:
    return _operand(other) if value is None else EXACT.add(value, _operand(other))


@decimal("M O -> M!")
def subtract(value: Decimal | None, other: Any) -> Decimal:
    return -_operand(other) if value is None else EXACT.subtract(value, _operand(other))


@decimal("M O -> M!")
def multiply(value: Decimal | None, other: Any) -> Decimal:
    operand = _operand(other) if value is not None else Decimal(0)
    return Decimal(0) if value is None else multiply_exactly(value, operand)


@decimal("M O -> M")
def divideq(value: Decimal | None, other: Any) -> Decimal | None:
    divisor = _operand(other)
    if divisor == 0 and scale_of(divisor) == 0:
        return None
    return Decimal(0) if value is None else divide(value, divisor)


@decimal("M O -> M")
def divider(value: Decimal | None, other: Any) -> Decimal | None:
    divisor = _operand(other)
    if divisor == 0 and scale_of(divisor) == 0:
        return None
    return Decimal(0) if value is None else get_remainder(value, divisor)


@decimal("M -> M!")
def abs_(value: Decimal | None) -> Decimal:
    return abs(_require_not_null(value))


@decimal("M -> I")
def precision(value: Decimal | None) -> int:
    return len(_require_not_null(value).as_tuple().digits)


@decimal("M -> I")
def scale(value: Decimal | None) -> int:
    return scale_of(_require_not_null(value))


@decimal("M -> O", "unscaled")
def get_unscaled(value: Decimal | None) -> int:
    return int(_require_not_null(value).scaleb(scale_of(_require_not_null(value)), EXACT))


@decimal("M I -> M!")
def decimal_left(value: Decimal | None, places: int) -> Decimal:
    given = _require_not_null(value)
    scale = scale_of(given) + _places(places)
    divisor = Decimal(format_double(10.0**places))
    quotient = EXACT.divide(with_scale(given, scale, ROUND_UP), divisor)
    return strip_zeros(with_scale(quotient, scale, ROUND_HALF_EVEN))


@decimal("M I -> M!")
def decimal_right(value: Decimal | None, places: int) -> Decimal:
    given = _require_not_null(value)
    moved = EXACT.multiply(given, Decimal(10) ** _places(places))
    return with_scale(moved, max(scale_of(given) - places, 0), ROUND_DOWN)


def _places(places: int) -> int:
    if abs(places) > 300:
        raise ValueError(f"the point cannot be moved by {places} places")
    return places


@decimal("M I -> M!")
def pow_(value: Decimal | None, exponent: int) -> Decimal:
    return power(_require_not_null(value), exponent)


@decimal("M -> M!")
def negate(value: Decimal | None) -> Decimal:
    return -_require_not_null(value) or Decimal(0)


@decimal("M -> M!")
def strip_zero(value: Decimal | None) -> Decimal:
    return strip_zeros(_require_not_null(value))


@decimal("M -> I")
def sign(value: Decimal | None) -> int:
    return (_require_not_null(value) > 0) - (_require_not_null(value) < 0)


number = FunctionNamespace("number")


@number("N -> D?")
def AsDouble(value: Any) -> float | None:
    return None if value is None else float(value)


@number("N -> F?")
def AsFloat(value: Any) -> float | None:
    return None if value is None else round_to_float(float(value))


@number("N -> I?")
def AsInteger(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, float):
        return numbers.truncate_to_int(value, 32)
    return numbers.wrap(int(value), 32)


@number("N -> D")
def Mantissa(value: Any) -> float:
    """Return the fraction of a number; 0 for null and whole numbers."""
    if value is None or isinstance(value, int):
        return 0.0
    exact = Decimal(format_double(value)) if isinstance(value, float) else value
    return float(exact - numbers.wrap(int(exact), 32))
