"""Expressions as Python code: one function of the variables for each expression.

The code inlines the common cases (two whole numbers, two texts) and calls the operators of
:mod:`localcdap.plugin_lib.jexl.operators` for all others. It gives the same answers as they do, several
times faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.java.text_units import replace_halves
from localcdap.plugin_lib.jexl import interpreter, operators
from localcdap.plugin_lib.jexl import interpreter as running
from localcdap.plugin_lib.jexl.errors import EvaluationError
from localcdap.plugin_lib.jexl.functions import FUNCTIONS
from localcdap.plugin_lib.jexl.parser import (
    CONDITIONS,
    Node,
    find_plain_path,
    list_local_names,
    list_read_names,
)
from localcdap.plugin_lib.jexl.value_methods import METHODS

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
    "element": interpreter.get_element,
    "member": interpreter.get_member,
    "method": interpreter.call_method,
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
        self.may_cut = False
        """Whether a function or method is called that may leave half of a character."""
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
        run: Callable[..., Any] = scope["run"]
        self.run: Final = _replace_halves_in_result(run) if writer.may_cut else run
        """The function from the values of the variables to the value."""


def _replace_halves_in_result(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose result is what Java writes for texts with halves of characters."""

    def run_and_replace(*values: Any) -> Any:
        result = run(*values)
        if result.__class__ is str:
            return replace_halves(result)
        if result.__class__ is list:
            return [replace_halves(each) if each.__class__ is str else each for each in result]
        return result

    return run_and_replace


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
    writer.may_cut |= any(form.counts_units for form in function.overloads)
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
    method = METHODS.get(("text", name))
    writer.may_cut |= method is not None and any(form.counts_units for form in method.overloads)
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


_KINDS: Final[dict[str, Callable[[Writer, Node], Coded]]] = {
    "constant": write_constant,
    "name": write_name,
    "group": group,
    "member": write_member,
    "index": index,
    "list": make_list,
    "set": make_set,
    "map": make_map,
    "assign": assign,
    "unary": write_unary,
    "binary": write_binary,
    "chain": chain,
    "ternary": write_ternary,
    "elvis": write_elvis,
    "coalesce": write_coalesce,
    "call": call,
    "method": write_method,
}
