"""Code of constants, variables, their members, collections."""

from __future__ import annotations

import math

from localcdap.plugin_lib.jexl.code.scope import CHAINS
from localcdap.plugin_lib.jexl.code.writer import Coded, Writer
from localcdap.plugin_lib.jexl.tree import Node, plain_path


def constant(writer: Writer, node: Node) -> Coded:
    value = node.value
    if value is None:
        return "None", "any"
    if isinstance(value, bool | int | str):
        return repr(value), type(value).__name__
    if isinstance(value, float) and math.isfinite(value):
        return repr(value), "float"
    return writer.kept(value), "any"


def name(writer: Writer, node: Node) -> Coded:
    return writer.variables[node.value], "any"


def group(writer: Writer, node: Node) -> Coded:
    return writer.write(node.parts[0])


def member(writer: Writer, node: Node) -> Coded:
    """``a.b``, which may be the name of a column as well."""
    dotted = plain_path(node)
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
