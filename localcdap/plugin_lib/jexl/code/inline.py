"""Operators that stand in line where Python answers as Java does."""

from __future__ import annotations

from typing import Final

from localcdap.plugin_lib.jexl.code.scope import CLASSES
from localcdap.plugin_lib.jexl.code.writer import Writer
from localcdap.plugin_lib.jexl.tree import Node

FAST: Final = {
    "+": "SUMMED",
    "-": "COUNTED",
    "*": "COUNTED",
    "==": "PLAIN",
    "!=": "PLAIN",
    "<": "WHOLE",
    ">": "WHOLE",
    "<=": "WHOLE",
    ">=": "WHOLE",
}
"""Operators that Python has too, with the classes of both operands for which it answers alike."""

_Operand = tuple[str, str, str]
"""Code of the first use, code of later uses, type."""


def applied(writer: Writer, symbol: str, function: str, left: _Operand, right: Node) -> str:
    """Code of an operator: in line where there is one, else its function."""
    if symbol not in FAST:
        return f"{function}({left[0]}, {writer.code(right)})"
    return _inline(symbol, function, left, writer.twice(right))


def _inline(symbol: str, function: str, left: _Operand, right: _Operand) -> str:
    """The operator itself when the classes of both operands are alike and good for it, else its function."""
    first, a, kind_a = left
    second, b, kind_b = right
    classes = FAST[symbol]
    known = {kind.__name__ for kind in CLASSES[classes]}
    if kind_b in known and not second.startswith("("):
        test = f"{class_of(first)} is {kind_b}"
    elif kind_a in known and not first.startswith("("):
        test = f"{class_of(second)} is {kind_a}"
    else:
        # `&` evaluates both sides, so that each has its value whatever the other is.
        test = f"({class_of(first)} is {class_of(second)}) & ({class_of(a)} in {classes})"
    return f"({a} {symbol} {b} if {test} else {function}({a}, {b}))"


def class_of(code: str) -> str:
    """Code of the class of a value."""
    return f"({code}).__class__" if code[0].isdigit() or code[0] == "-" else f"{code}.__class__"
