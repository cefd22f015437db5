"""The tree of an expression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

DEEPEST: Final = 60
"""How deep expressions may be nested; chains of one operator (``a + b + c …``) are one level."""

CHAINED: Final = frozenset(("+", "-", "*", "/", "%", "&&", "||", "&", "|", "^"))
"""Binary operators whose chains are kept flat: (first, (operator, operand), …)."""

CONDITIONS: Final = frozenset(
    ("==", "!=", "<", ">", "<=", ">=", "=~", "!~", "=^", "!^", "=$", "!$")
)
"""Binary operators that answer with a bool."""


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
        """This node and all below it, in the order of the text (parents first)."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.parts))


def make(kind: str, value: Any, parts: Sequence[Node], line: int, column: int) -> Node:
    """A node that knows how deep the tree below it is."""
    depth = 1 + max((part.depth for part in parts), default=0)
    return Node(kind, value, parts, line, column, depth)


def plain_path(node: Node) -> str | None:
    """``a.b.c`` when the node is nothing but names and dots, or None."""
    names: list[str] = []
    while node.kind == "member":
        names.append(node.value[0])
        node = node.parts[0]
    if node.kind != "name":
        return None
    return ".".join((node.value, *reversed(names)))
