"""The builder of trees from the results of lark's parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

from lark import Token, Transformer

from localcdap.java.numbers import is_number, parse_decimal
from localcdap.java.strings import round_to_float
from localcdap.plugin_lib.jexl.errors import Problem
from localcdap.plugin_lib.jexl.parser import CHAINED, DEEPEST, Node, build_node, find_plain_path

_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONSTANTS: Final = {"true": True, "false": False, "null": None, "NaN": float("nan")}


class TreeError(Exception):
    """Stops the parser where the grammar allows more than JEXL does."""

    def __init__(self, message: str, place: Any, hint: str | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(
            message, getattr(place, "line", 1), getattr(place, "column", 1), hint
        )


def _unescape(token: str) -> str:
    """Return the value of a text literal; a backslash stays before a character that needs no escape, as in
    patterns.
    """
    quote, body = token[0], token[1:-1]
    if "\\" not in body:
        return body

    def replace(found: re.Match[str]) -> str:
        code, char = found.groups()
        if code:
            return chr(int(code, 16))
        return char if char in ("\\", quote) else "\\" + char

    return _ESCAPE.sub(replace, body)


def _parse_integer(text: str) -> int:
    digits = text.rstrip("lLhH")
    if digits[:2] in ("0x", "0X"):
        return int(digits, 0)
    return int(digits, 8) if len(digits) > 1 and digits[0] == "0" else int(digits)


def _parse_real(text: str) -> float | Decimal:
    if text[-1] in "bB":
        return parse_decimal(text[:-1])
    value = float(text.rstrip("fFdD"))
    return round_to_float(value) if text[-1] in "fF" else value


def _build_node(kind: str, value: Any, parts: Any, places: Iterable[Any] = ()) -> Node:
    place = next((p for p in (*places, *parts) if getattr(p, "line", None)), None)
    line, column = (place.line, place.column) if place is not None else (1, 1)
    made = build_node(kind, value, parts, line, column)
    if made.depth > 4 * DEEPEST:
        hint = "Set a column to a part of it first."
        raise TreeError(f"The expression is nested more than {DEEPEST} levels deep", made, hint)
    return made


def _check_whole(kind: str) -> Callable[[Builder, list[Any]], Node]:
    def build(_: Builder, parts: list[Any]) -> Node:
        return _build_node(kind, None, _filter_nodes(parts), parts)

    return build


def _filter_nodes(parts: list[Any]) -> list[Node]:
    return [part for part in parts if isinstance(part, Node)]


def _filter_names(parts: list[Any], kind: str = "NAME") -> list[str]:
    return [str(p) for p in parts if isinstance(p, Token) and p.type == kind]


class Builder(Transformer[Any, Node]):
    """The lark transformer, with one method for each rule of the grammar."""

    start = _check_whole("script")
    block = _check_whole("block")
    nothing = _check_whole("nothing")
    ternary = _check_whole("ternary")
    elvis = _check_whole("elvis")
    coalesce = _check_whole("coalesce")
    leave = _check_whole("break")
    again = _check_whole("continue")
    give = _check_whole("return")
    repeat = _check_whole("while")
    conditional_statement = _check_whole("if")
    list = _check_whole("list")
    set = _check_whole("set")
    entry = _check_whole("entry")

    def map(self, parts: Any) -> Node:
        return _build_node("map", None, [p for e in _filter_nodes(parts) for p in e.parts])

    def arguments(self, parts: Any) -> Any:
        return _filter_nodes(parts)

    def group(self, parts: Any) -> Node:
        # A chain in brackets is an operand of its own, not more of the chain around it.
        inner: Node = parts[0]
        return _build_node("group", None, (inner,)) if inner.kind in ("chain", "name") else inner

    def binary(self, parts: Any) -> Node:
        left, operator, right = parts[0], str(parts[1]), parts[2]
        if operator not in CHAINED:
            return _build_node("binary", operator, (left, right), parts)
        if left.kind != "chain" or _build_level(left.value[0]) != _build_level(operator):
            return _build_node("chain", [operator], [left, right])
        # The parser hands each chain on once, so it may grow in place: a long one costs linear time.
        left.value.append(operator)
        left.parts.append(right)
        depth = max(left.depth, right.depth + 1)
        return Node("chain", left.value, left.parts, left.line, left.column, depth)

    def unary(self, parts: Any) -> Node:
        operator, operand = str(parts[0]), parts[1]
        if operator == "-" and operand.kind == "constant" and is_number(operand.value):
            return _build_node("constant", -operand.value, (), parts)
        return _build_node("unary", operator, (operand,), parts)

    def call(self, parts: Any) -> Node:
        namespace = next(iter(_filter_names(parts, "NAMESPACE")), "")
        return _build_node("call", (namespace, _filter_names(parts)[0]), parts[-1], parts)

    def member(self, parts: Any) -> Node:
        name = _unescape(parts[2]) if parts[2].type == "STRING" else str(parts[2])
        return _build_node("member", (name, parts[1] == "?."), (parts[0],), parts)

    def index(self, parts: Any) -> Node:
        return _build_node("index", None, parts, parts)

    def method(self, parts: Any) -> Node:
        value = (str(parts[2]), parts[1] == "?.")
        return _build_node("method", value, (parts[0], *parts[3]), parts)

    def assign(self, parts: Any) -> Node:
        name = find_plain_path(parts[0])
        if name is None:
            hint = "Only variables can be assigned to."
            raise TreeError("A part of a value cannot be assigned to", parts[0], hint)
        operator = str(parts[1]) if isinstance(parts[1], Token) else "="
        return _build_node("assign", (operator.rstrip("=") or "=", name), (parts[-1],), parts)

    def declare(self, parts: Any) -> Node:
        return _build_node("declare", _filter_names(parts)[0], _filter_nodes(parts), parts)

    def for_each(self, parts: Any) -> Node:
        return _build_node("for_each", _filter_names(parts)[0], _filter_nodes(parts), parts)

    def name(self, parts: Any) -> Node:
        return _build_node("name", str(parts[0]), (), parts)

    def integer(self, parts: Any) -> Node:
        return _build_node("constant", _parse_integer(parts[0]), (), parts)

    def real(self, parts: Any) -> Node:
        return _build_node("constant", _parse_real(parts[0]), (), parts)

    def string(self, parts: Any) -> Node:
        return _build_node("constant", _unescape(parts[0]), (), parts)

    def reject(self, parts: Any) -> Node:
        raise TreeError(f"'{parts[0]}' cannot be used here", parts[0])

    def constant(self, parts: Any) -> Node:
        return _build_node("constant", _CONSTANTS[parts[0]], (), parts)


def _build_level(operator: str) -> str:
    """Return the level of an operator: sums, products, and each other operator form one chain."""
    return "+" if operator in "+-" else "*" if operator in "*/%" else operator
