"""Sums, products, quotients, signs, and texts put together."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from localcdap.java import numbers
from localcdap.plugin_lib.jexl.errors import fail, null_operand, type_name
from localcdap.plugin_lib.jexl.operators.conversions import (
    is_floating,
    to_decimal,
    to_double,
    to_text,
    to_whole,
)


def add(left: Any, right: Any) -> Any:
    if left is None or right is None:
        null_operand("+")
    if left.__class__ is str or right.__class__ is str:
        return to_text(left) + to_text(right)
    return _calculate("+", left, right)


def subtract(left: Any, right: Any) -> Any:
    return _calculate("-", left, right)


def multiply(left: Any, right: Any) -> Any:
    return _calculate("*", left, right)


def divide(left: Any, right: Any) -> Any:
    return _calculate("/", left, right)


def modulo(left: Any, right: Any) -> Any:
    return _calculate("%", left, right)


def _calculate(symbol: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        null_operand(symbol)
    whole, floating, decimal = _OPERATIONS[symbol]
    if left.__class__ is int and right.__class__ is int:
        return whole(left, right)
    if left.__class__ is Decimal or right.__class__ is Decimal:
        result = decimal(to_decimal(left), to_decimal(right))
        return _narrowed(result) if int in (left.__class__, right.__class__) else result
    if is_floating(left) or is_floating(right):
        return floating(to_double(left), to_double(right))
    if symbol == "%":  # of texts: BigInteger.mod, which has no negative modulus
        return _text_modulo(to_whole(left), to_whole(right))
    return whole(to_whole(left), to_whole(right))


def _narrowed(value: Decimal) -> Decimal | int:
    """A decimal calculated with a whole number is a whole number again when it fits a long."""
    if value.is_finite() and value == value.to_integral_value():
        whole = int(value)
        if numbers.LONG_MIN <= whole <= numbers.LONG_MAX:
            return whole
    return value


def _no_zero(symbol: str, value: Any) -> None:
    if value == 0:
        fail(f"'{symbol}' has zero on its right side")


def _divide_whole(left: int, right: int) -> int:
    _no_zero("/", right)
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _modulo_whole(left: int, right: int) -> int:
    _no_zero("%", right)
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _text_modulo(left: int, right: int) -> int:
    if right < 0:
        fail("'%' has a negative number on its right side")
    _no_zero("%", right)
    return left % right


def _divide_floating(left: float, right: float) -> float:
    _no_zero("/", right)
    return left / right


def _modulo_floating(left: float, right: float) -> float:
    _no_zero("%", right)
    return math.nan if math.isinf(left) else math.fmod(left, right)


def _divide_decimal(left: Decimal, right: Decimal) -> Decimal:
    _no_zero("/", right)
    return numbers.DECIMAL128.divide(left, right)


def _modulo_decimal(left: Decimal, right: Decimal) -> Decimal:
    _no_zero("%", right)
    return numbers.DECIMAL128.remainder(left, right)


_Operation = tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]
_OPERATIONS: Final[dict[str, _Operation]] = {
    "+": (operator.add, operator.add, numbers.DECIMAL128.add),
    "-": (operator.sub, operator.sub, numbers.DECIMAL128.subtract),
    "*": (operator.mul, operator.mul, numbers.DECIMAL128.multiply),
    "/": (_divide_whole, _divide_floating, _divide_decimal),
    "%": (_modulo_whole, _modulo_floating, _modulo_decimal),
}


def negate(value: Any) -> Any:
    if value is True or value is False:
        return not value
    if isinstance(value, int | float | Decimal):
        return -value
    return fail(f"'-' cannot be used with a {type_name(value)}")


def confirm(value: Any) -> Any:
    if isinstance(value, int | float | Decimal):
        return value
    return fail(f"'+' cannot be used with a {type_name(value)}")
