"""The Python function of an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from localcdap.plugin_lib.jexl.code import operators
from localcdap.plugin_lib.jexl.code.writer import Coded, Writer
from localcdap.plugin_lib.jexl.tree import Node, list_local_names, list_read_names


def is_statement(node: Node) -> bool:
    """Return whether a node is a statement, not an expression."""
    return node.kind in _STATEMENTS


def write_statements(writer: Writer, node: Node) -> list[str]:
    """Return the lines of code of a statement or an expression."""
    write = _STATEMENTS.get(node.kind)
    return write(writer, node) if write is not None else [f"result = {writer.code(node)}"]


def _block(writer: Writer, node: Node) -> list[str]:
    if not node.parts:
        return ["result = None"]
    return [line for part in node.parts for line in write_statements(writer, part)]


def _write_body(writer: Writer, node: Node) -> list[str]:
    return [f"    {line}" for line in write_statements(writer, node)]


def _write_if(writer: Writer, node: Node) -> list[str]:
    head = f"if {writer.truth(node.parts[0])}:"
    otherwise = _write_body(writer, node.parts[2]) if len(node.parts) > 2 else ["    result = None"]
    return [head, *_write_body(writer, node.parts[1]), "else:", *otherwise]


def _declare(writer: Writer, node: Node) -> list[str]:
    value = writer.code(node.parts[0]) if node.parts else "None"
    return [f"result = {writer.variables[node.value]} = {value}"]


def _return(writer: Writer, node: Node) -> list[str]:
    return [f"return {writer.code(node.parts[0])}"]


def _write_for_each(writer: Writer, node: Node) -> list[str]:
    values = writer.code(node.parts[0])
    head = f"for {writer.variables[node.value]} in walk({values}):"
    return _write_loop(writer, head, node.parts[1])


def _write_while(writer: Writer, node: Node) -> list[str]:
    return _write_loop(writer, f"while {writer.truth(node.parts[0])}:", node.parts[1])


def _write_loop(writer: Writer, head: str, body: Node) -> list[str]:
    return ["result = None", head, "    steps.count()", *_write_body(writer, body)]


_STATEMENTS: Final[dict[str, Callable[[Writer, Node], list[str]]]] = {
    "block": _block,
    "script": _block,
    "if": _write_if,
    "declare": _declare,
    "return": _return,
    "for_each": _write_for_each,
    "while": _write_while,
    "break": lambda *_: ["break"],
    "continue": lambda *_: ["continue"],
    "nothing": lambda *_: ["result = None"],
}


class Code:
    """The compiled function of an expression."""

    def __init__(self, root: Node) -> None:
        self.names: Final = list_read_names(root)
        """The variables, in the order of the function's arguments."""
        writer = Writer(self.names, list_local_names(root), _KINDS)
        source = _write_function(writer, root)
        scope = writer.scope
        exec(compile(source, "<expression>", "exec"), scope)  # noqa: S102 - written here, from a checked tree
        self.run: Final[Callable[..., Any]] = scope["run"]
        """The function from the values of the variables to the value."""


def _write_function(writer: Writer, root: Node) -> str:
    single = _single(writer, root)
    body = [f"return {writer.code(single)}"] if single is not None else _script(writer, root)
    return "\n".join(
        (
            f"def run({', '.join(writer.arguments)}):",
            "    try:",
            *(f"        {line}" for line in body),
            "    except EvaluationError:",
            "        raise",
            "    except Exception as error:",
            "        failed(error)",
        )
    )


def _single(writer: Writer, root: Node) -> Node | None:
    """Return the only expression of a script, or None if there are several statements."""
    if len(root.parts) != 1 or writer.has_locals or is_statement(root.parts[0]):
        return None
    return root.parts[0]


def _script(writer: Writer, root: Node) -> list[str]:
    lines = ["result = None", "steps = Steps()"]
    lines += [f"{v} = None" for v in writer.variables.values() if v not in writer.arguments]
    for part in root.parts:
        lines += write_statements(writer, part)
    return [*lines, "return result"]


_KINDS: Final[dict[str, Callable[[Writer, Node], Coded]]] = {
    "constant": operators.write_constant,
    "name": operators.write_name,
    "group": operators.group,
    "member": operators.write_member,
    "index": operators.index,
    "list": operators.make_list,
    "set": operators.make_set,
    "map": operators.make_map,
    "assign": operators.assign,
    "unary": operators.write_unary,
    "binary": operators.write_binary,
    "chain": operators.chain,
    "ternary": operators.write_ternary,
    "elvis": operators.write_elvis,
    "coalesce": operators.write_coalesce,
    "call": operators.call,
    "method": operators.write_method,
}
