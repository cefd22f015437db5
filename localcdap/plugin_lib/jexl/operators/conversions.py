"""Values as the type that an operator wants."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any, Final, NoReturn

from localcdap.java import numbers
from localcdap.java.strings import format_double, to_java_string
from localcdap.plugin_lib.jexl.errors import EvaluationError, fail, type_name

_FLOATING: Final = re.compile(r"[+-]?\d*(\.\d*)?([eE][+-]?\d+)?\Z")


def to_boolean(value: Any) -> bool:
    """NaN, 0, empty text and ``"false"`` are false; null is an error."""
    if value is True or value is False:
        return bool(value)
    if value is None:
        fail("A condition is null: a column is null or not there")
    if isinstance(value, int | float | Decimal):
        return value == value and value != 0
    if isinstance(value, str):
        return bool(value) and value != "false"
    return True


def to_long(value: Any) -> int:
    kind = value.__class__
    if kind is int:
        return numbers.wrap(value, 64)
    if kind is float:
        return numbers.truncate_to_int(value, 64)
    if kind is bool:
        return int(value)
    if kind is Decimal:
        return numbers.wrap(int(value), 64)
    if kind is str:
        try:
            return numbers.parse_long(value) if value else 0
        except numbers.NumberFormatError as error:
            _mismatch(error)
    return fail(f"A {type_name(value)} is no whole number")


def to_whole(value: Any) -> int:
    """The big integer of a value."""
    if value.__class__ is int:
        return int(value)
    if value.__class__ is str:
        try:
            return numbers.parse_whole(value) if value else 0
        except numbers.NumberFormatError as error:
            _mismatch(error)
    return int(value) if isinstance(value, Decimal) else to_long(value)


def to_double(value: Any) -> float:
    """Empty text is NaN."""
    kind = value.__class__
    if kind is float:
        return float(value)
    if kind is int or kind is bool or kind is Decimal:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if kind is str:
        try:
            return numbers.parse_double(value) if value else math.nan
        except numbers.NumberFormatError as error:
            _mismatch(error)
    return fail(f"A {type_name(value)} is no number")


def to_decimal(value: Any) -> Decimal:
    """Empty text and NaN are zero."""
    kind = value.__class__
    if kind is Decimal:
        return Decimal(value)
    if kind is int or kind is bool:
        return numbers.DECIMAL128.create_decimal(int(value))
    try:
        if kind is float:
            return Decimal(0) if value != value else numbers.parse_decimal(format_double(value))
        if kind is str:
            return numbers.parse_decimal(value) if value else Decimal(0)
    except numbers.NumberFormatError as error:
        _mismatch(error)
    return fail(f"A {type_name(value)} is no decimal")


def to_text(value: Any) -> str:
    """The text of an operand of a concatenation; NaN is empty."""
    return "" if value != value else to_java_string(value)


def is_floating(value: Any) -> bool:
    """Whether a value is a double, or a text that reads as one."""
    if value.__class__ is str:
        found = _FLOATING.match(value)
        return found is not None and bool(found.group(1) is not None or found.group(2))
    return value.__class__ is float


def _mismatch(error: Exception) -> NoReturn:
    message = "Type mismatch: change the type of the constant, or convert with a function such as toDouble"
    raise EvaluationError(f"{message} ({error})") from None
