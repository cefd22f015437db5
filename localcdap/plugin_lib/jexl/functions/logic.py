"""``logical:``: the original's ``Logical``, functions on bits."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from typing import Any

from localcdap.java.numbers import wrap
from localcdap.plugin_lib.jexl.functions.registry import Namespace

logical = Namespace("logical")


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
        raise ValueError(f"'{value}' is no binary number of 64 bits at most")
    return wrap(int(digits, 2), 64)


@logical("L -> S!")
def BitExpand(value: int) -> str:
    return format(value & ((1 << 64) - 1), "b")


@logical("L A I -> L")
def SetBit(value: int, positions: Any, bit: int) -> int:
    """Bits are counted from 1; as in the original the mask is an int, so bit 32 sets all above it too."""
    for position in positions or ():
        mask = wrap(1 << ((int(position) - 1) & 31), 32)
        value = value | mask if bit > 0 else value & ~mask
    return wrap(value, 64)
