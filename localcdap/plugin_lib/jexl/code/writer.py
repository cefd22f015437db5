"""The writer of the Python code of one expression: temporaries, constants and inlined common cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.jexl import interpreter as running
from localcdap.plugin_lib.jexl import methods, operators
from localcdap.plugin_lib.jexl.errors import EvaluationError
from localcdap.plugin_lib.jexl.tree import Node

_Function = Callable[..., Any]

BINARY: Final[dict[str, _Function]] = {
    "==": operators.is_equal,
    "!=": operators.is_different,
    "..": running.make_range,
    "<": operators.is_less,
    ">": operators.is_greater,
    "<=": operators.is_at_most,
    ">=": operators.is_at_least,
    "=~": operators.is_match,
    "!~": operators.is_no_match,
    "=^": operators.is_prefixed,
    "!^": operators.is_not_prefixed,
    "=$": operators.is_suffixed,
    "!$": operators.is_not_suffixed,
    "<<": operators.shift_left,
    ">>": operators.shift_right,
}
CHAINS: Final[dict[str, _Function]] = {
    "+": operators.add,
    "-": operators.subtract,
    "*": operators.multiply,
    "/": operators.divide,
    "%": operators.compute_modulo,
    "&": operators.and_bits,
    "|": operators.or_bits,
    "^": operators.xor_bits,
}
UNARY: Final[dict[str, _Function]] = {
    "-": operators.negate,
    "+": operators.confirm,
    "~": operators.invert_bits,
}
CLASSES: Final = {
    "SUMMED": frozenset((int, str, float)),
    "COUNTED": frozenset((int, float)),
    "PLAIN": frozenset((int, str)),
    "WHOLE": frozenset((int,)),
}
"""The classes of operands for which Python's own operators give the same answer."""

SCOPE: Final[dict[str, Any]] = {
    **CLASSES,
    **{
        function.__name__: function
        for operators in (BINARY, CHAINS, UNARY)
        for function in operators.values()
    },
    "truth": operators.to_boolean,
    "holds": running.is_true,
    "fold": running.fold,
    "is_empty": operators.is_empty,
    "size": operators.count_elements,
    "quiet": running.call_quietly,
    "element": methods.get_element,
    "member": methods.get_member,
    "method": methods.call_method,
    "path": running.read_path,
    "make_map": running.make_map,
    "make_set": running.make_set,
    "walk": running.walk,
    "Steps": running.Steps,
    "failed": running.translate_error,
    "EvaluationError": EvaluationError,
    "TRIMMED": TRIM_CHARACTERS,
}


Coded = tuple[str, str]
"""The code of a value and its type if it is certain (``bool``, ``int``, ``str`` …), else ``any``."""


class Writer:
    """Writes the code of nodes by their kinds, and names temporary values.

    :param names: the names of the variables, which are the function's arguments.
    :param local: the names of the variables that the expression declares.
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
        """Return the code of several values, separated by commas."""
        return ", ".join(map(self.code, nodes))

    def truth(self, node: Node) -> str:
        """Return the code of a bool in which null is an error."""
        code, kind = self.write(node)
        return code if kind == "bool" else f"truth({code})"

    def twice(self, node: Node) -> tuple[str, str, str]:
        """Return the code of the first and of later uses of a value, and its type."""
        code, kind = self.write(node)
        if code.isidentifier() or node.kind == "constant":
            return code, code, kind
        name = self.temporary()
        return f"({name} := {code})", name, kind

    def temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    def store_constant(self, value: object) -> str:
        """Return the name of a value that cannot be written as code."""
        name = f"k{len(self.scope)}"
        self.scope[name] = value
        return name


FAST: Final = {
    "+": "SUMMED",
    "-": "COUNTED",
    "*": "COUNTED",
    "==": "PLAIN",
    "!=": "PLAIN",
    "<": "WHOLE",
    ">": "WHOLE",
    "<=": "WHOLE",
    ">=": "WHOLE",
}
"""The operators that Python has too, with the classes of both operands for which it gives the same answer.
"""

_Operand = tuple[str, str, str]
"""The code of the first use, the code of later uses, and the type."""


def apply_operator(writer: Writer, symbol: str, function: str, left: _Operand, right: Node) -> str:
    """Return the code of an operator: inlined if possible, else a call of its function."""
    if symbol not in FAST:
        return f"{function}({left[0]}, {writer.code(right)})"
    return _inline(symbol, function, left, writer.twice(right))


def _inline(symbol: str, function: str, left: _Operand, right: _Operand) -> str:
    """Return the operator itself for operands of the same suitable class, with its function as the
    fallback.
    """
    first, a, kind_a = left
    second, b, kind_b = right
    classes = FAST[symbol]
    known = {kind.__name__ for kind in CLASSES[classes]}
    if kind_b in known and not second.startswith("("):
        test = f"{write_class_of(first)} is {kind_b}"
    elif kind_a in known and not first.startswith("("):
        test = f"{write_class_of(second)} is {kind_a}"
    else:
        # `&` evaluates both sides, so that each has its value whatever the other is.
        test = f"({write_class_of(first)} is {write_class_of(second)}) & ({write_class_of(a)} in {classes})"
    return f"({a} {symbol} {b} if {test} else {function}({a}, {b}))"


def write_class_of(code: str) -> str:
    """Return the code of the class of a value."""
    return f"({code}).__class__" if code[0].isdigit() or code[0] == "-" else f"{code}.__class__"
