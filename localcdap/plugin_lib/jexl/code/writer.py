"""The names of the code that is written for one expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from localcdap.plugin_lib.jexl.code.scope import SCOPE
from localcdap.plugin_lib.jexl.tree import Node

Coded = tuple[str, str]
"""Code of a value, and its type when that is sure: ``bool``, ``int``, ``str`` …, else ``any``."""


class Writer:
    """Writes the nodes of an expression by their kinds, and gives out names.

    :param names: of the variables that are arguments of the function.
    :param local: names of the variables that the expression declares.
    """

    def __init__(
        self,
        names: Sequence[str],
        local: set[str],
        kinds: Mapping[str, Callable[[Writer, Node], Coded]],
    ) -> None:
        self._kinds: Final = kinds
        self.scope: Final[dict[str, Any]] = dict(SCOPE)
        self.variables: Final = {name: f"v{at}" for at, name in enumerate(names)}
        for name in sorted(local - set(names)):
            self.variables[name] = f"w{len(self.variables)}"
        self.arguments: Final = [self.variables[name] for name in names]
        self.has_locals: Final = bool(local)
        self._temporaries = 0

    def write(self, node: Node) -> Coded:
        return self._kinds[node.kind](self, node)

    def code(self, node: Node) -> str:
        return self.write(node)[0]

    def codes(self, nodes: Sequence[Node]) -> str:
        """Code of several values, with commas between."""
        return ", ".join(map(self.code, nodes))

    def truth(self, node: Node) -> str:
        """Code of a bool; a null is an error."""
        code, kind = self.write(node)
        return code if kind == "bool" else f"truth({code})"

    def twice(self, node: Node) -> tuple[str, str, str]:
        """Code for a first and for a second use of a value, and its type."""
        code, kind = self.write(node)
        if code.isidentifier() or node.kind == "constant":
            return code, code, kind
        name = self.temporary()
        return f"({name} := {code})", name, kind

    def temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    def kept(self, value: object) -> str:
        """The name of a value that has no code."""
        name = f"k{len(self.scope)}"
        self.scope[name] = value
        return name
