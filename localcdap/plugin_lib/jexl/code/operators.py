"""Code of operators."""

from __future__ import annotations

from typing import Final

from localcdap.plugin_lib.jexl.code.inline import FAST, applied
from localcdap.plugin_lib.jexl.code.scope import BINARY, CHAINS, UNARY
from localcdap.plugin_lib.jexl.code.writer import Coded, Writer
from localcdap.plugin_lib.jexl.tree import CONDITIONS, Node

_LONG_CHAIN: Final = 8


def unary(writer: Writer, node: Node) -> Coded:
    value = node.parts[0]
    if node.value == "!":
        return f"(not {writer.truth(value)})", "bool"
    if node.value == "empty":
        return _quietly(writer, "is_empty", value, "True"), "bool"
    if node.value == "size":
        return _quietly(writer, "size", value, "0"), "int"
    return f"{UNARY[node.value].__name__}({writer.code(value)})", "any"


def _quietly(writer: Writer, function: str, value: Node, otherwise: str) -> str:
    """A function of a value that may fail without harm."""
    code = writer.code(value)
    if code.isidentifier() or writer.has_locals:
        return f"{function}({code})"
    return f"quiet({function}, lambda: {code}, {otherwise})"


def binary(writer: Writer, node: Node) -> Coded:
    symbol = node.value
    if symbol in ("==", "!=") and any(map(_is_null, node.parts)):
        return _compared_with_null(writer, node), "bool"
    kind = "bool" if symbol in CONDITIONS else "int" if symbol in ("<<", ">>") else "any"
    function = BINARY[symbol].__name__
    if symbol not in FAST:
        return f"{function}({writer.codes(node.parts)})", kind
    left, right = node.parts
    return applied(writer, symbol, function, writer.twice(left), right), kind


def _is_null(node: Node) -> bool:
    return node.kind == "constant" and node.value is None


def _compared_with_null(writer: Writer, node: Node) -> str:
    left, right = node.parts
    other = right if _is_null(left) else left
    is_equal = node.value == "=="
    if other.kind == "constant":
        return repr((other.value is None) == is_equal)
    return f"({writer.code(other)} {'is' if is_equal else 'is not'} None)"


def chain(writer: Writer, node: Node) -> Coded:
    """Operands of equal rank from left to right."""
    symbols = node.value
    if symbols[0] in ("&&", "||"):
        joint = " and " if symbols[0] == "&&" else " or "
        return f"({joint.join(map(writer.truth, node.parts))})", "bool"
    functions = [CHAINS[symbol].__name__ for symbol in symbols]
    if len(node.parts) > _LONG_CHAIN:
        return f"fold(({', '.join(functions)},), ({writer.codes(node.parts)}))", "any"
    first, *others = node.parts
    left = writer.twice(first)
    code = ""
    for symbol, function, right in zip(symbols, functions, others, strict=True):
        if code:
            name = writer.temporary()
            left = f"({name} := {code})", name, "any"
        code = applied(writer, symbol, function, left, right)
    return code, "int" if symbols[0] in "&|^" else "any"
