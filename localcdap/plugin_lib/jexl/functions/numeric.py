"""``number:``: the original's ``NumberFunctions``."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from decimal import Decimal
from typing import Any

from localcdap.java import numbers
from localcdap.java.strings import format_double, round_to_float
from localcdap.plugin_lib.jexl.functions.registry import Namespace

number = Namespace("number")


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
    """What is behind the point; 0 of null and of whole numbers."""
    if value is None or isinstance(value, int):
        return 0.0
    exact = Decimal(format_double(value)) if isinstance(value, float) else value
    return float(exact - numbers.wrap(int(exact), 32))
