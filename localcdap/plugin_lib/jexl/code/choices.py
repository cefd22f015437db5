"""Code of ``? :``, ``?:`` and ``??``."""

from __future__ import annotations

from localcdap.plugin_lib.jexl.code.calls import protected
from localcdap.plugin_lib.jexl.code.writer import Coded, Writer
from localcdap.plugin_lib.jexl.tree import Node


def ternary(writer: Writer, node: Node) -> Coded:
    then, kind_then = protected(writer, node.parts[1])
    otherwise, kind_otherwise = protected(writer, node.parts[2])
    kind = kind_then if kind_then == kind_otherwise else "any"
    return f"({then} if {_condition(writer, node.parts[0])} else {otherwise})", kind


def _condition(writer: Writer, node: Node) -> str:
    """Code of a bool; a null is false."""
    code, kind = protected(writer, node)
    return code if kind == "bool" else f"holds({code})"


def elvis(writer: Writer, node: Node) -> Coded:
    name = writer.temporary()
    left, right = (protected(writer, part)[0] for part in node.parts)
    return f"({name} if holds({name} := {left}) else {right})", "any"


def coalesce(writer: Writer, node: Node) -> Coded:
    name = writer.temporary()
    left, right = protected(writer, node.parts[0])[0], writer.code(node.parts[1])
    return f"({name} if ({name} := {left}) is not None else {right})", "any"
