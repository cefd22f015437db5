"""Casts of GoogleSQL that other databases do differently (``conversion_functions.md`` of google/zetasql)."""

from __future__ import annotations

import decimal
import re
from typing import Any, Final

from .value_texts import print_decimal, print_float, print_value

_INT64: Final = re.compile(r"\s*([-+]?)(?:0[xX]([0-9a-fA-F]+)|([0-9]+))\s*")
_MOST: Final = 2**63 - 1
_NUMERIC_STEP: Final = decimal.Decimal("1e-9")
_EXACT: Final = decimal.Context(prec=80, rounding=decimal.ROUND_HALF_UP)
_MOST_NUMERIC: Final = decimal.Decimal("99999999999999999999999999999.999999999")


class CastError(ValueError):
    """A value that a type does not hold."""


def parse_int64(text: str) -> int:
    """Return the INT64 that a STRING holds: decimal digits, or hexadecimal ones after ``0x``.

    :raises CastError: for another text, and for a number that INT64 does not hold.
    """
    found = _INT64.fullmatch(text)
    if found is None:
        raise CastError(f"Bad int64 value: {text}")
    sign, hexadecimal, digits = found.groups()
    number = int(hexadecimal, 16) if hexadecimal else int(digits)
    number = -number if sign == "-" else number
    if not -_MOST - 1 <= number <= _MOST:
        raise CastError(f"Bad int64 value: {text}")
    return number


def to_string(value: Any) -> str:
    """Return a value as a cast to STRING makes it.

    :raises CastError: for BYTES that are not UTF-8.
    """
    match value:
        case float():
            text = print_float(value)
            return text.removesuffix(".0") if text != "-0.0" else "-0"
        case decimal.Decimal():
            return print_decimal(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise CastError("Invalid cast of bytes to UTF8 string") from None
        case _:
            return print_value(value)


def divide_numerics(dividend: decimal.Decimal, divisor: decimal.Decimal) -> decimal.Decimal:
    """Return the quotient as a NUMERIC: nine digits after the point, halves away from zero.

    :raises CastError: for a division by zero, and for a quotient that NUMERIC does not hold.
    """
    if divisor == 0:
        raise CastError(f"division by zero: {print_decimal(dividend)} / {print_decimal(divisor)}")
    quotient = _EXACT.divide(dividend, divisor).quantize(_NUMERIC_STEP, context=_EXACT)
    if abs(quotient) > _MOST_NUMERIC:
        raise CastError(f"numeric overflow: {print_decimal(dividend)} / {print_decimal(divisor)}")
    return quotient
