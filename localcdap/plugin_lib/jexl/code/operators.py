"""Python code of values, operators, alternatives, calls and methods."""

from __future__ import annotations

import math
from typing import Final

from localcdap.plugin_lib.jexl.code.writer import (
    BINARY,
    CHAINS,
    FAST,
    UNARY,
    Coded,
    Writer,
    apply_operator,
    write_class_of,
)
from localcdap.plugin_lib.jexl.functions import FUNCTIONS
from localcdap.plugin_lib.jexl.tree import CONDITIONS, Node, find_plain_path


def write_constant(writer: Writer, node: Node) -> Coded:
    value = node.value
    if value is None:
        return "None", "any"
    if isinstance(value, bool | int | str):
        return repr(value), type(value).__name__
    if isinstance(value, float) and math.isfinite(value):
        return repr(value), "float"
    return writer.store_constant(value), "any"


def write_name(writer: Writer, node: Node) -> Coded:
    return writer.variables[node.value], "any"


def group(writer: Writer, node: Node) -> Coded:
    return writer.write(node.parts[0])


def write_member(writer: Writer, node: Node) -> Coded:
    """Return the code of ``a.b``, which may also be the name of a column."""
    dotted = find_plain_path(node)
    parts = dotted.split(".") if dotted is not None else [""]
    if dotted not in writer.variables or parts[0] not in writer.variables:
        return f"member({writer.code(node.parts[0])}, {node.value[0]!r})", "any"
    paths = (".".join(parts[: at + 1]) for at in range(1, len(parts)))
    others = ", ".join(writer.variables.get(one, "None") for one in paths)
    return f"path({writer.variables[parts[0]]}, {tuple(parts[1:])!r}, ({others},))", "any"


def index(writer: Writer, node: Node) -> Coded:
    return f"element({writer.codes(node.parts)})", "any"


def make_list(writer: Writer, node: Node) -> Coded:
    return f"[{writer.codes(node.parts)}]", "any"


def make_set(writer: Writer, node: Node) -> Coded:
    return f"make_set([{writer.codes(node.parts)}])", "any"


def make_map(writer: Writer, node: Node) -> Coded:
    return f"make_map([{writer.codes(node.parts)}])", "any"


def assign(writer: Writer, node: Node) -> Coded:
    operator, target = node.value
    variable = writer.variables[target]
    value = writer.code(node.parts[0])
    if operator != "=":
        value = f"{CHAINS[operator].__name__}({variable}, {value})"
    return f"({variable} := {value})", "any"


_LONG_CHAIN: Final = 8


def write_unary(writer: Writer, node: Node) -> Coded:
    value = node.parts[0]
    if node.value == "!":
        return f"(not {writer.truth(value)})", "bool"
    if node.value == "empty":
        return _write_quietly(writer, "is_empty", value, "True"), "bool"
    if node.value == "size":
        return _write_quietly(writer, "size", value, "0"), "int"
    return f"{UNARY[node.value].__name__}({writer.code(value)})", "any"


def _write_quietly(writer: Writer, function: str, value: Node, otherwise: str) -> str:
    """Return the code of a function whose argument may fail without an error."""
    code = writer.code(value)
    if code.isidentifier() or writer.has_locals:
        return f"{function}({code})"
    return f"quiet({function}, lambda: {code}, {otherwise})"


def write_binary(writer: Writer, node: Node) -> Coded:
    symbol = node.value
    if symbol in ("==", "!=") and any(map(_is_null, node.parts)):
        return _compare_with_null(writer, node), "bool"
    kind = "bool" if symbol in CONDITIONS else "int" if symbol in ("<<", ">>") else "any"
    function = BINARY[symbol].__name__
    if symbol not in FAST:
        return f"{function}({writer.codes(node.parts)})", kind
    left, right = node.parts
    return apply_operator(writer, symbol, function, writer.twice(left), right), kind


def _is_null(node: Node) -> bool:
    return node.kind == "constant" and node.value is None


def _compare_with_null(writer: Writer, node: Node) -> str:
    left, right = node.parts
    other = right if _is_null(left) else left
    is_equal = node.value == "=="
    if other.kind == "constant":
        return repr((other.value is None) == is_equal)
    return f"({writer.code(other)} {'is' if is_equal else 'is not'} None)"


def chain(writer: Writer, node: Node) -> Coded:
    """Return the code of a chain of operands of equal rank, evaluated from left to right."""
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
        code = apply_operator(writer, symbol, function, left, right)
    return code, "int" if symbols[0] in "&|^" else "any"


_TEXT_METHODS: Final = {
    "trim": "{0}.strip(TRIMMED)",
    "toUpperCase": "{0}.upper()",
    "toLowerCase": "{0}.lower()",
    "isEmpty": "(not {0})",
}


def call(writer: Writer, node: Node) -> Coded:
    function = FUNCTIONS[node.value]
    count = len(node.parts)
    name = f"f_{node.value[0]}_{node.value[1]}_{count}"
    writer.scope[name] = function.build_caller(count)
    is_bool = all(
        form.never_null and form.returns == "B" for form in function.find_overloads(count)
    )
    return f"{name}({writer.codes(node.parts)})", "bool" if is_bool else "any"


def write_null_safe(writer: Writer, node: Node) -> Coded:
    """Return the code of a node in which a method of null gives null, as in the branches of ``? :``."""
    return write_method(writer, node, safe=True) if node.kind == "method" else writer.write(node)


def write_method(writer: Writer, node: Node, *, safe: bool = False) -> Coded:
    name, null_safe = node.value
    value, again, _ = writer.twice(node.parts[0])
    arguments = "".join(f", {writer.code(part)}" for part in node.parts[1:])
    plain = f"method({again}, {name!r}{arguments})"
    if (safe or null_safe) and node.parts[0].kind != "constant":
        return f"(None if {value} is None else {plain})", "any"
    if name in _TEXT_METHODS and not arguments:
        fast = _TEXT_METHODS[name].format(f"({again})")
        return f"({fast} if {write_class_of(value)} is str else {plain})", "any"
    return f"method({writer.code(node.parts[0])}, {name!r}{arguments})", "any"


def write_ternary(writer: Writer, node: Node) -> Coded:
    then, kind_then = write_null_safe(writer, node.parts[1])
    otherwise, kind_otherwise = write_null_safe(writer, node.parts[2])
    kind = kind_then if kind_then == kind_otherwise else "any"
    return f"({then} if {_write_condition(writer, node.parts[0])} else {otherwise})", kind


def _write_condition(writer: Writer, node: Node) -> str:
    """Return the code of a bool in which null is false."""
    code, kind = write_null_safe(writer, node)
    return code if kind == "bool" else f"holds({code})"


def write_elvis(writer: Writer, node: Node) -> Coded:
    name = writer.temporary()
    left, right = (write_null_safe(writer, part)[0] for part in node.parts)
    return f"({name} if holds({name} := {left}) else {right})", "any"


def write_coalesce(writer: Writer, node: Node) -> Coded:
    name = writer.temporary()
    left, right = write_null_safe(writer, node.parts[0])[0], writer.code(node.parts[1])
    return f"({name} if ({name} := {left}) is not None else {right})", "any"
