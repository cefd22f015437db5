"""Methods of numbers and booleans (``java.lang.Number``, ``BigDecimal``)."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from localcdap.java import numbers
from localcdap.java.strings import round_to_float
from localcdap.plugin_lib.jexl.functions.decimals import scale_of
from localcdap.plugin_lib.jexl.methods.any_value import compare_to
from localcdap.plugin_lib.jexl.methods.declaring import MethodsOf

number = MethodsOf("number")
boolean = MethodsOf("boolean")


def _whole(value: Any, bits: int) -> int:
    return (
        numbers.truncate_to_int(value, bits)
        if isinstance(value, float)
        else numbers.wrap(int(value), bits)
    )


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value
    raise ValueError("only decimals have it")


number("-> I", "intValue")(lambda value: _whole(value, 32))
number("-> L", "longValue")(lambda value: _whole(value, 64))
number("-> I", "shortValue")(lambda value: numbers.wrap(_whole(value, 32), 16))
number("-> I", "byteValue")(lambda value: numbers.wrap(_whole(value, 32), 8))
number("-> D", "doubleValue")(float)
number("-> F", "floatValue")(lambda value: round_to_float(float(value)))
number("N -> I", "compareTo")(compare_to)
number("-> B", "isNaN")(lambda value: value != value)
number("-> B", "isInfinite")(lambda value: isinstance(value, float) and math.isinf(value))
number("-> I", "scale")(lambda value: scale_of(_decimal(value)))
number("-> I", "precision")(lambda value: len(_decimal(value).as_tuple().digits))
number("-> I", "signum")(lambda value: (value > 0) - (value < 0))
number("-> M", "abs")(lambda value: abs(_decimal(value)))
number("-> M", "negate")(lambda value: -_decimal(value))
number("-> S", "toPlainString")(lambda value: format(_decimal(value), "f"))
number("-> M", "stripTrailingZeros")(lambda value: _decimal(value).normalize())
number("M -> M", "add")(lambda value, other: _decimal(value) + other)
number("M -> M", "subtract")(lambda value, other: _decimal(value) - other)
number("M -> M", "multiply")(lambda value, other: _decimal(value) * other)
boolean("-> B", "booleanValue")(lambda value: value)
