"""Code of statements: lines that leave their value in ``result``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from localcdap.plugin_lib.jexl.code.writer import Writer
from localcdap.plugin_lib.jexl.tree import Node


def is_statement(node: Node) -> bool:
    """Whether a node is more than an expression."""
    return node.kind in _STATEMENTS


def lines_of(writer: Writer, node: Node) -> list[str]:
    """The lines of a statement, or of an expression that is one."""
    write = _STATEMENTS.get(node.kind)
    return write(writer, node) if write is not None else [f"result = {writer.code(node)}"]


def _block(writer: Writer, node: Node) -> list[str]:
    if not node.parts:
        return ["result = None"]
    return [line for part in node.parts for line in lines_of(writer, part)]


def _body(writer: Writer, node: Node) -> list[str]:
    return [f"    {line}" for line in lines_of(writer, node)]


def _if(writer: Writer, node: Node) -> list[str]:
    head = f"if {writer.truth(node.parts[0])}:"
    otherwise = _body(writer, node.parts[2]) if len(node.parts) > 2 else ["    result = None"]
    return [head, *_body(writer, node.parts[1]), "else:", *otherwise]


def _declare(writer: Writer, node: Node) -> list[str]:
    value = writer.code(node.parts[0]) if node.parts else "None"
    return [f"result = {writer.variables[node.value]} = {value}"]


def _return(writer: Writer, node: Node) -> list[str]:
    return [f"return {writer.code(node.parts[0])}"]


def _for_each(writer: Writer, node: Node) -> list[str]:
    values = writer.code(node.parts[0])
    head = f"for {writer.variables[node.value]} in walk({values}):"
    return _loop(writer, head, node.parts[1])


def _while(writer: Writer, node: Node) -> list[str]:
    return _loop(writer, f"while {writer.truth(node.parts[0])}:", node.parts[1])


def _loop(writer: Writer, head: str, body: Node) -> list[str]:
    return ["result = None", head, "    steps.count()", *_body(writer, body)]


_STATEMENTS: Final[dict[str, Callable[[Writer, Node], list[str]]]] = {
    "block": _block,
    "script": _block,
    "if": _if,
    "declare": _declare,
    "return": _return,
    "for_each": _for_each,
    "while": _while,
    "break": lambda *_: ["break"],
    "continue": lambda *_: ["continue"],
    "nothing": lambda *_: ["result = None"],
}
