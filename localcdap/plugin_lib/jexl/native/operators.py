"""Operators, logic and alternatives (``? :``, ``?:``, ``??``) as Spark columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import Schema
from localcdap.plugin_lib.jexl.native.arithmetic import (
    build_arithmetic,
    build_choice,
    build_coalesce,
    build_negation,
)
from localcdap.plugin_lib.jexl.native.comparisons import (
    build_empty,
    build_equality,
    build_match,
    build_ordering,
    build_size,
    has_affix,
)
from localcdap.plugin_lib.jexl.native.functions import build_null_safe
from localcdap.plugin_lib.jexl.native.parts import (
    NoNativeError,
    Part,
    PartOf,
    find_null_failures,
    join_any,
    join_both,
    to_truth,
)
from localcdap.plugin_lib.jexl.tree import Node

if TYPE_CHECKING:
    pass


_NEGATED: Final = {"!=": "==", "!~": "=~", "!^": "=^", "!$": "=$"}


def build_unary(of: PartOf, node: Node) -> Part:
    operand = of(node.parts[0])
    if node.value == "!":
        return Part(~to_truth(operand), Schema.BOOLEAN, False, find_null_failures(operand))
    if node.value == "empty":
        return build_empty(operand)
    if node.value == "size" and operand.is_text:
        return build_size(operand)
    if node.value == "-":
        return build_negation(operand)
    raise NoNativeError


def build_binary(of: PartOf, node: Node) -> Part:
    symbol = node.value
    if symbol in _NEGATED:
        found = _build_comparison(of, _NEGATED[symbol], node)
        return replace(found, column=~found.column)
    return _build_comparison(of, symbol, node)


def _build_comparison(of: PartOf, symbol: str, node: Node) -> Part:
    left, right = of(node.parts[0]), of(node.parts[1])
    if symbol == "==":
        return build_equality(left, right)
    if symbol in ("<", ">", "<=", ">="):
        return build_ordering(symbol, left, right)
    if symbol == "=~":
        return build_match(left, node.parts[1])
    if symbol in ("=^", "=$"):
        return has_affix(symbol, left, right)
    raise NoNativeError


def chain(of: PartOf, node: Node) -> Part:
    """Build a chain of operands of equal rank, evaluated from left to right."""
    parts = map(of, node.parts)
    if node.value[0] in ("&&", "||"):
        return _build_logic(node.value[0], list(parts))
    value = next(parts)
    for symbol, part in zip(node.value, parts, strict=True):
        value = build_arithmetic(symbol, value, part)
    return value


def _build_logic(symbol: str, parts: list[Part]) -> Part:
    """Build "and" or "or" of the parts; a part fails only if the parts before it do not decide."""
    value = to_truth(parts[0])
    failing = find_null_failures(parts[0])
    for part in parts[1:]:
        goes_on = value if symbol == "&&" else ~value
        failing = join_any(failing, join_both(goes_on, find_null_failures(part)))
        truth = to_truth(part)
        value = value & truth if symbol == "&&" else value | truth
    return Part(value, Schema.BOOLEAN, False, failing)


def build_ternary(of: PartOf, node: Node) -> Part:
    condition, then, otherwise = (build_null_safe(of, part) for part in node.parts)
    return build_choice(condition, to_truth(condition), then, otherwise)


def build_elvis(of: PartOf, node: Node) -> Part:
    left, right = (build_null_safe(of, part) for part in node.parts)
    return right if left.type == Schema.NULL else build_choice(left, to_truth(left), left, right)


def build_null_coalescing(of: PartOf, node: Node) -> Part:
    return build_coalesce([build_null_safe(of, node.parts[0]), of(node.parts[1])])
