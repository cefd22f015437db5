"""Operators, logic and alternatives (``? :``, ``?:``, ``??``) as Spark columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.native.arithmetic import (
    calculated,
    chosen,
    first_not_null,
    negated,
)
from localcdap.plugin_lib.jexl.native.comparisons import (
    empty,
    equal,
    has_affix,
    matches,
    ordered,
    size,
)
from localcdap.plugin_lib.jexl.native.functions import protected
from localcdap.plugin_lib.jexl.native.parts import (
    NoNativeError,
    Part,
    PartOf,
    both,
    either,
    fails_on_null,
    to_truth,
)
from localcdap.plugin_lib.jexl.tree import Node

if TYPE_CHECKING:
    pass


_NEGATED: Final = {"!=": "==", "!~": "=~", "!^": "=^", "!$": "=$"}


def unary(of: PartOf, node: Node) -> Part:
    operand = of(node.parts[0])
    if node.value == "!":
        return Part(~to_truth(operand), Schema.BOOLEAN, False, fails_on_null(operand))
    if node.value == "empty":
        return empty(operand)
    if node.value == "size" and operand.is_text:
        return size(operand)
    if node.value == "-":
        return negated(operand)
    raise NoNativeError


def binary(of: PartOf, node: Node) -> Part:
    symbol = node.value
    if symbol in _NEGATED:
        found = _compared(of, _NEGATED[symbol], node)
        return replace(found, column=~found.column)
    return _compared(of, symbol, node)


def _compared(of: PartOf, symbol: str, node: Node) -> Part:
    left, right = of(node.parts[0]), of(node.parts[1])
    if symbol == "==":
        return equal(left, right)
    if symbol in ("<", ">", "<=", ">="):
        return ordered(symbol, left, right)
    if symbol == "=~":
        return matches(left, node.parts[1])
    if symbol in ("=^", "=$"):
        return has_affix(symbol, left, right)
    raise NoNativeError


def chain(of: PartOf, node: Node) -> Part:
    """Operands of equal rank from left to right."""
    parts = map(of, node.parts)
    if node.value[0] in ("&&", "||"):
        return _logic(node.value[0], list(parts))
    value = next(parts)
    for symbol, part in zip(node.value, parts, strict=True):
        value = calculated(symbol, value, part)
    return value


def _logic(symbol: str, parts: list[Part]) -> Part:
    """All or any of the parts, which fail only where those before do not decide."""
    value = to_truth(parts[0])
    failing = fails_on_null(parts[0])
    for part in parts[1:]:
        goes_on = value if symbol == "&&" else ~value
        failing = either(failing, both(goes_on, fails_on_null(part)))
        truth = to_truth(part)
        value = value & truth if symbol == "&&" else value | truth
    return Part(value, Schema.BOOLEAN, False, failing)


def ternary(of: PartOf, node: Node) -> Part:
    condition, then, otherwise = (protected(of, part) for part in node.parts)
    return chosen(condition, to_truth(condition), then, otherwise)


def elvis(of: PartOf, node: Node) -> Part:
    left, right = (protected(of, part) for part in node.parts)
    return right if left.type == Schema.NULL else chosen(left, to_truth(left), left, right)


def coalesce(of: PartOf, node: Node) -> Part:
    return first_not_null([protected(of, node.parts[0]), of(node.parts[1])])
