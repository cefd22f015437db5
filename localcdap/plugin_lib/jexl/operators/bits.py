"""Whole numbers as their bits."""

from __future__ import annotations

from typing import Any

from localcdap.java import numbers
from localcdap.plugin_lib.jexl.errors import null_operand
from localcdap.plugin_lib.jexl.operators.conversions import to_long


def complement(value: Any) -> int:
    return ~_bits("~", value)


def bit_and(left: Any, right: Any) -> int:
    return _bits("&", left) & _bits("&", right)


def bit_or(left: Any, right: Any) -> int:
    return _bits("|", left) | _bits("|", right)


def bit_xor(left: Any, right: Any) -> int:
    return _bits("^", left) ^ _bits("^", right)


def shift_left(left: Any, right: Any) -> int:
    return numbers.wrap(_bits("<<", left) << (_bits("<<", right) & 63), 64)


def shift_right(left: Any, right: Any) -> int:
    return _bits(">>", left) >> (_bits(">>", right) & 63)


def _bits(symbol: str, value: Any) -> int:
    if value is None:
        null_operand(symbol)
    return to_long(value)
