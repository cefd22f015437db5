"""The tree of an expression, and the names that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

DEEPEST: Final = 60
"""The most levels of nesting of an expression; a chain of one operator (``a + b + c …``) is one level."""

CHAINED: Final = frozenset(("+", "-", "*", "/", "%", "&&", "||", "&", "|", "^"))
"""The binary operators whose chains are kept flat: (first, (operator, operand), …)."""

CONDITIONS: Final = frozenset(
    ("==", "!=", "<", ">", "<=", ">=", "=~", "!~", "=^", "!^", "=$", "!$")
)
"""The binary operators that return a bool."""


@dataclass(slots=True, frozen=True)
class Node:
    """A part of an expression. What ``value`` and ``parts`` are depends on the kind:

    =============  ==============================================  ==============================
    kind           value                                           parts
    =============  ==============================================  ==============================
    constant       the value: text, number, bool or None
    name           the variable's name
    list set map                                                   elements; keys and values in turns
    unary          the operator                                    the operand
    binary         the operator                                    left, right
    chain          the operators between the operands              the operands
    ternary                                                        condition, then, otherwise
    elvis                                                          left, right
    coalesce                                                       left, right
    call           (namespace or "", name)                         the arguments
    member         (name, null-safe?)                              the object
    index                                                          the object, the index
    method         (name, null-safe?)                              the object, the arguments
    assign         (operator or "=", the variable's name)          the value
    declare        the variable's name                             the value or nothing
    if                                                             condition, then[, otherwise]
    for_each       the variable's name                             what is walked, the body
    while                                                          condition, the body
    block script                                                   statements
    return                                                         the value
    break          continue nothing
    =============  ==============================================  ==============================
    """

    kind: str
    value: Any
    parts: Sequence[Node]
    line: int
    column: int
    depth: int

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it, in the order of the text (parents first)."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.parts))


def build_node(kind: str, value: Any, parts: Sequence[Node], line: int, column: int) -> Node:
    """Return a node that knows the depth of the tree below it."""
    depth = 1 + max((part.depth for part in parts), default=0)
    return Node(kind, value, parts, line, column, depth)


def find_plain_path(node: Node) -> str | None:
    """Return ``a.b.c`` if the node consists of names and dots only, else None."""
    names: list[str] = []
    while node.kind == "member":
        names.append(node.value[0])
        node = node.parts[0]
    if node.kind != "name":
        return None
    return ".".join((node.value, *reversed(names)))


def list_read_names(root: Node) -> list[str]:
    """Return the names of variables in the order of the text, each once; ``a.b`` reads both ``a`` and
    ``a.b``.

    A name with dots may be the name of a column. Names that the expression declares are left out.
    """
    declared = {node.value for node in root.walk() if node.kind in ("declare", "for_each")}
    names: dict[str, None] = {}
    for node in root.walk():
        if node.kind == "name" and node.value not in declared:
            names[node.value] = None
        elif node.kind == "member":
            path = find_plain_path(node)
            if path is not None and path.split(".")[0] not in declared:
                names[path] = None
        elif node.kind == "assign" and node.value[0] != "=" and node.value[1] not in declared:
            names[node.value[1]] = None
    return list(names)


def list_local_names(root: Node) -> set[str]:
    """Return the names that the expression declares or assigns."""
    found = {node.value for node in root.walk() if node.kind in ("declare", "for_each")}
    return found | {node.value[1] for node in root.walk() if node.kind == "assign"}
