"""Numbers as Java parses and narrows them."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Final

from localcdap.java.strings import TRIM_CHARACTERS, narrow_to_float, round_to_float

INT_MIN: Final = -(2**31)
INT_MAX: Final = 2**31 - 1
LONG_MIN: Final = -(2**63)
LONG_MAX: Final = 2**63 - 1

DECIMAL128: Final = Context(prec=34, rounding=ROUND_HALF_EVEN, Emax=6144, Emin=-6143, traps=[])
"""The arithmetic of big decimals in expressions (``MathContext.DECIMAL128``)."""

_BEYOND: Final = 2.0**128
"""The number after the largest float, if floats had larger exponents."""
_WHOLE: Final = re.compile(r"[+-]?[^\D\U00010000-\U0010FFFF]+\Z")
"""Digits are those of any script, as ``Character.digit`` reads a UTF-16 unit."""
_HEX: Final = r"0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+"
DOUBLE: Final = (
    rf"[\x00-\x20]*[+-]?(?:NaN|Infinity|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|{_HEX})[fFdD]?)"
    r"[\x00-\x20]*"
)
"""The texts that ``Double.parseDouble`` reads, as a pattern of Python and of Java."""
_DOUBLE: Final = re.compile(DOUBLE)
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")


class NumberFormatError(ValueError):
    """A text is not a number (Java's ``NumberFormatException``, with its message)."""

    def __init__(self, text: str) -> None:
        shown = text if len(text) <= 80 else text[:77] + "..."
        super().__init__(f'For input string: "{shown}"')


def is_number(value: object) -> bool:
    """Return whether a value is a number. A bool, which is a kind of int in Python, is none, as in Java."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def parse_whole(text: str) -> int:
    """Parse a whole number of at most 4000 characters, as ``new BigInteger(text)``."""
    if not _WHOLE.match(text) or len(text) > 4000:
        raise NumberFormatError(text)
    return int(text)


def parse_long(text: str) -> int:
    """Parse a number of 64 bits, as ``Long.parseLong``."""
    value = parse_whole(text)
    if not LONG_MIN <= value <= LONG_MAX:
        raise NumberFormatError(text)
    return value


def parse_int(text: str) -> int:
    """Parse a number of 32 bits, as ``Integer.parseInt``."""
    value = parse_whole(text)
    if not INT_MIN <= value <= INT_MAX:
        raise NumberFormatError(text)
    return value


def parse_double(text: str) -> float:
    """Parse a number as ``Double.parseDouble``: ``1d``, ``NaN``, ``0x1p3``, blanks around it; not ``inf``."""
    if not _DOUBLE.fullmatch(text):
        raise NumberFormatError(text)
    digits = text.strip(TRIM_CHARACTERS)
    if "x" in digits or "X" in digits:
        try:
            return float.fromhex(digits.rstrip("fFdD"))
        except OverflowError:
            return -math.inf if digits[0] == "-" else math.inf
    return float(digits if "I" in digits or "N" in digits else digits.rstrip("fFdD"))


def parse_float(text: str) -> float:
    """Parse a number as ``Float.parseFloat``, which rounds once, as the double with the same text."""
    value = parse_double(text)
    if not math.isfinite(value) or "x" in text or "X" in text:
        return round_to_float(value)
    below, above = math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
    low, high = (max(-_BEYOND, min(narrow_to_float(each), _BEYOND)) for each in (below, above))
    if low != high and value == (low + high) / 2:
        # The double is in the middle of two floats. What was rounded away decides.
        digits = Decimal(text.strip(TRIM_CHARACTERS).rstrip("fFdD"))
        if digits != Decimal(value):
            value = above if digits > Decimal(value) else below
    return round_to_float(value)


def parse_decimal(text: str) -> Decimal:
    """Parse a decimal as ``new BigDecimal(text, DECIMAL128)``."""
    if not _DECIMAL.match(text):
        raise NumberFormatError(text)
    try:
        return DECIMAL128.create_decimal(text)
    except InvalidOperation:
        raise NumberFormatError(text) from None


def wrap(value: int, bits: int) -> int:
    """Return the low bits as a two's complement number: how Java narrows a whole number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def truncate_to_int(value: float, bits: int) -> int:
    """Cast a double to ``int`` (32 bits) or ``long``: towards zero, clamped to the range, 0 for NaN."""
    if value != value:
        return 0
    top = (1 << (bits - 1)) - 1
    if math.isinf(value):
        return top if value > 0 else -top - 1
    return max(-top - 1, min(top, int(value)))
