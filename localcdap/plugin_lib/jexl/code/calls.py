"""Code of calls of functions and methods."""

from __future__ import annotations

from typing import Final

from localcdap.plugin_lib.jexl.code.inline import class_of
from localcdap.plugin_lib.jexl.code.writer import Coded, Writer
from localcdap.plugin_lib.jexl.functions import FUNCTIONS
from localcdap.plugin_lib.jexl.tree import Node

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
    writer.scope[name] = function.caller(count)
    is_bool = all(form.never_null and form.returns == "B" for form in function.forms(count))
    return f"{name}({writer.codes(node.parts)})", "bool" if is_bool else "any"


def protected(writer: Writer, node: Node) -> Coded:
    """The code where a method of null gives null, as it does right inside of ``? :``."""
    return method(writer, node, safe=True) if node.kind == "method" else writer.write(node)


def method(writer: Writer, node: Node, *, safe: bool = False) -> Coded:
    name, null_safe = node.value
    value, again, _ = writer.twice(node.parts[0])
    arguments = "".join(f", {writer.code(part)}" for part in node.parts[1:])
    plain = f"method({again}, {name!r}{arguments})"
    if (safe or null_safe) and node.parts[0].kind != "constant":
        return f"(None if {value} is None else {plain})", "any"
    if name in _TEXT_METHODS and not arguments:
        fast = _TEXT_METHODS[name].format(f"({again})")
        return f"({fast} if {class_of(value)} is str else {plain})", "any"
    return f"method({writer.code(node.parts[0])}, {name!r}{arguments})", "any"
