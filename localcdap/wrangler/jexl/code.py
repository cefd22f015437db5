"""Writes Python code of an expression: one function of its variables.

The code has the common cases in line (two whole numbers, two texts) and calls the operators of
:mod:`localcdap.wrangler.jexl.arithmetic` for all others, so it answers as they do, some times faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from localcdap.wrangler.jexl import arithmetic, members, running
from localcdap.wrangler.jexl.errors import EvaluationError
from localcdap.wrangler.jexl.functions import FUNCTIONS
from localcdap.wrangler.jexl.names import local_names, read_names
from localcdap.wrangler.jexl.tree import Node, plain_path

Arguments = Callable[..., Any]

_BINARY: Final = {
    "==": arithmetic.equals,
    "!=": arithmetic.differs,
    "..": arithmetic.make_range,
    "<": arithmetic.less,
    ">": arithmetic.greater,
    "<=": arithmetic.at_most,
    ">=": arithmetic.at_least,
    "=~": arithmetic.matches,
    "!~": arithmetic.matches_not,
    "=^": arithmetic.starts_with,
    "!^": arithmetic.starts_not_with,
    "=$": arithmetic.ends_with,
    "!$": arithmetic.ends_not_with,
    "<<": arithmetic.shift_left,
    ">>": arithmetic.shift_right,
}
_CHAINS: Final = {
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "%": arithmetic.modulo,
    "&": arithmetic.bit_and,
    "|": arithmetic.bit_or,
    "^": arithmetic.bit_xor,
}
_UNARY: Final = {"-": arithmetic.negate, "+": arithmetic.confirm, "~": arithmetic.complement}
_CONDITIONS: Final = frozenset(
    ("==", "!=", "<", ">", "<=", ">=", "=~", "!~", "=^", "!^", "=$", "!$")
)

_FAST: Final = {
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
"""Operators that Python has too, with the classes of both operands for which it answers alike."""

_CLASSES: Final = {
    "SUMMED": frozenset((int, str, float)),
    "COUNTED": frozenset((int, float)),
    "PLAIN": frozenset((int, str)),
    "WHOLE": frozenset((int,)),
}
_TEXT_METHODS: Final = {
    "trim": "{0}.strip(SPACE)",
    "toUpperCase": "{0}.upper()",
    "toLowerCase": "{0}.lower()",
    "isEmpty": "(not {0})",
}
_LONG_CHAIN: Final = 8


class Code:
    """The function of an expression, and one of whole columns."""

    def __init__(self, root: Node) -> None:
        self.names: Final = read_names(root)
        """The variables, in the order of the function's arguments."""
        writer = _Writer(self.names, local_names(root))
        source = writer.functions(root)
        scope: dict[str, Any] = dict(writer.scope)
        exec(compile(source, "<expression>", "exec"), scope)  # noqa: S102 - written here, from a checked tree
        self.source: Final = source
        self.run: Final[Callable[..., Any]] = scope["run"]
        """The value, given those of the variables."""
        self.run_all: Final[Callable[..., tuple[list[Any], dict[int, EvaluationError]]]] = scope[
            "run_all"
        ]
        """The values and the errors by row, given sequences of values of the variables."""


class _Writer:
    def __init__(self, names: Sequence[str], local: set[str]) -> None:
        self.scope: dict[str, Any] = {
            **_CLASSES,
            **{function.__name__: function for function in _BINARY.values()},
            **{function.__name__: function for function in _CHAINS.values()},
            **{function.__name__: function for function in _UNARY.values()},
            "truth": arithmetic.to_boolean,
            "holds": running.holds,
            "fold": running.fold,
            "is_empty": arithmetic.is_empty,
            "size": arithmetic.size,
            "quiet": running.quiet,
            "element": members.element,
            "member": members.member,
            "method": members.method,
            "path": running.path,
            "make_map": running.make_map,
            "make_set": running.make_set,
            "walk": running.walk,
            "Steps": running.Steps,
            "failed": running.failed,
            "EvaluationError": EvaluationError,
            "SPACE": "".join(map(chr, range(33))),
        }
        self.variables = {name: f"v{at}" for at, name in enumerate(names)}
        for name in sorted(local - set(names)):
            self.variables[name] = f"w{len(self.variables)}"
        self.arguments = [self.variables[name] for name in names]
        self._temporaries = 0
        self._local = local

    # -- functions ----------------------------------------------------------------------------------

    def functions(self, root: Node) -> str:
        arguments = ", ".join(self.arguments)
        body = self._function_body(root)
        columns = ", ".join(f"c{at}" for at in range(len(self.arguments)))
        rows = f"zip({columns}, strict=True)" if len(self.arguments) > 1 else "c0"
        each = f"for {arguments} in {rows}:" if self.arguments else "for _ in range(count):"
        single = self._single(root)
        value = self._expression(single)[0] if single is not None else f"run({arguments})"
        return "\n".join(
            (
                f"def run({arguments}):",
                "    try:",
                *(f"        {line}" for line in body),
                "    except EvaluationError:",
                "        raise",
                "    except Exception as error:",
                "        failed(error)",
                f"def run_all(count, {columns}):" if columns else "def run_all(count):",
                "    values = []",
                "    errors = {}",
                "    push = values.append",
                f"    {each}",
                "        try:",
                f"            push({value})",
                "        except EvaluationError as error:",
                "            errors[len(values)] = error",
                "            push(None)",
                "        except Exception as error:",
                "            errors[len(values)] = EvaluationError(str(error))",
                "            push(None)",
                "    return values, errors",
            )
        )

    def _single(self, root: Node) -> Node | None:
        """The one expression that a script is, or None."""
        if len(root.parts) != 1 or self._local or root.parts[0].kind in _STATEMENTS:
            return None
        return root.parts[0]

    def _function_body(self, root: Node) -> list[str]:
        single = self._single(root)
        if single is not None:
            return [f"return {self._expression(single)[0]}"]
        lines = ["result = None", "steps = Steps()"]
        lines += [f"{v} = None" for v in self.variables.values() if v not in self.arguments]
        for part in root.parts:
            lines += self._statement(part)
        return [*lines, "return result"]

    # -- statements ---------------------------------------------------------------------------------

    def _statement(self, node: Node) -> list[str]:
        write = _STATEMENTS.get(node.kind)
        if write is not None:
            return write(self, node)
        return [f"result = {self._expression(node)[0]}"]

    def _block(self, node: Node) -> list[str]:
        lines = ["result = None"] if not node.parts else []
        for part in node.parts:
            lines += self._statement(part)
        return lines

    def _body(self, node: Node) -> list[str]:
        return [f"    {line}" for line in self._statement(node) or ["pass"]]

    def _if(self, node: Node) -> list[str]:
        condition = self._truth(node.parts[0])
        otherwise = self._body(node.parts[2]) if len(node.parts) > 2 else ["    result = None"]
        return [f"if {condition}:", *self._body(node.parts[1]), "else:", *otherwise]

    def _declare(self, node: Node) -> list[str]:
        value = self._expression(node.parts[0])[0] if node.parts else "None"
        return [f"result = {self.variables[node.value]} = {value}"]

    def _return(self, node: Node) -> list[str]:
        return [f"return {self._expression(node.parts[0])[0]}"]

    def _for_each(self, node: Node) -> list[str]:
        values = self._expression(node.parts[0])[0]
        head = f"for {self.variables[node.value]} in walk({values}):"
        return ["result = None", head, "    steps.count()", *self._body(node.parts[1])]

    def _while(self, node: Node) -> list[str]:
        head = f"while {self._truth(node.parts[0])}:"
        return ["result = None", head, "    steps.count()", *self._body(node.parts[1])]

    # -- expressions --------------------------------------------------------------------------------

    def _expression(self, node: Node) -> tuple[str, str]:
        """Code of a value, and its type when that is sure: ``bool``, ``int``, ``str``, else ``any``."""
        return _EXPRESSIONS[node.kind](self, node)

    def _code(self, node: Node) -> str:
        return self._expression(node)[0]

    def _truth(self, node: Node) -> str:
        """Code of a bool; a null is an error."""
        code, kind = self._expression(node)
        return code if kind == "bool" else f"truth({code})"

    def _condition(self, node: Node) -> str:
        """Code of a bool; a null is false."""
        code, kind = self._protected(node)
        return code if kind == "bool" else f"holds({code})"

    def _protected(self, node: Node) -> tuple[str, str]:
        """The code where a method of null gives null, as it does right inside of ``? :``."""
        if node.kind == "method":
            return self._method(node, safe=True)
        return self._expression(node)

    def _temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    def _twice(self, node: Node) -> tuple[str, str, str]:
        """Code for a first and for a second use of a value, and its type."""
        code, kind = self._expression(node)
        if code.isidentifier() or node.kind == "constant":
            return code, code, kind
        name = self._temporary()
        return f"({name} := {code})", name, kind

    def _constant(self, node: Node) -> tuple[str, str]:
        value = node.value
        if value is None or isinstance(value, bool):
            return repr(value), "bool" if value is not None else "any"
        if isinstance(value, int | str):
            return repr(value), type(value).__name__
        if isinstance(value, float) and math.isfinite(value):
            return repr(value), "float"
        name = f"k{len(self.scope)}"
        self.scope[name] = value
        return name, "any"

    def _name(self, node: Node) -> tuple[str, str]:
        return self.variables[node.value], "any"

    def _group(self, node: Node) -> tuple[str, str]:
        return self._expression(node.parts[0])

    def _unary(self, node: Node) -> tuple[str, str]:
        operand = node.parts[0]
        if node.value == "!":
            return f"(not {self._truth(operand)})", "bool"
        if node.value in ("empty", "size"):
            name, kind, other = (
                ("is_empty", "bool", "True") if node.value == "empty" else ("size", "int", "0")
            )
            code = self._code(operand)
            if code.isidentifier() or self._local:
                return f"{name}({code})", kind
            return f"quiet({name}, lambda: {code}, {other})", kind
        return f"{_UNARY[node.value].__name__}({self._code(operand)})", "any"

    def _binary(self, node: Node) -> tuple[str, str]:
        left, right = node.parts
        kind = (
            "bool" if node.value in _CONDITIONS else "int" if node.value in ("<<", ">>") else "any"
        )
        constant_null = any(part.kind == "constant" and part.value is None for part in node.parts)
        if constant_null and node.value in ("==", "!="):
            other = right if left.kind == "constant" and left.value is None else left
            if other.kind == "constant":
                return repr((other.value is None) == (node.value == "==")), "bool"
            return f"({self._code(other)} {'is' if node.value == '==' else 'is not'} None)", "bool"
        return self._operation(node.value, _BINARY[node.value], left, right), kind

    def _operation(self, symbol: str, function: Callable[..., Any], left: Node, right: Node) -> str:
        classes = _FAST.get(symbol)
        if classes is None:
            return f"{function.__name__}({self._code(left)}, {self._code(right)})"
        first, a, kind_a = self._twice(left)
        second, b, kind_b = self._twice(right)
        return _inline(symbol, function.__name__, classes, (first, a, kind_a), (second, b, kind_b))

    def _chain(self, node: Node) -> tuple[str, str]:
        operators = node.value
        if operators[0] in ("&&", "||"):
            joint = " and " if operators[0] == "&&" else " or "
            return f"({joint.join(self._truth(part) for part in node.parts)})", "bool"
        functions = [_CHAINS[operator].__name__ for operator in operators]
        if len(node.parts) > _LONG_CHAIN:
            operands = ", ".join(self._code(part) for part in node.parts)
            return f"fold(({', '.join(functions)},), ({operands}))", "any"
        return self._short_chain(node, functions), "int" if operators[0] in "&|^" else "any"

    def _short_chain(self, node: Node, functions: list[str]) -> str:
        first, a, kind_a = self._twice(node.parts[0])
        code = ""
        for at, part in enumerate(node.parts[1:]):
            symbol = node.value[at]
            if code:
                a = self._temporary()
                first, kind_a = f"({a} := {code})", "any"
            classes = _FAST.get(symbol)
            if classes is None:
                code = f"{functions[at]}({first}, {self._code(part)})"
            else:
                second, b, kind_b = self._twice(part)
                code = _inline(
                    symbol, functions[at], classes, (first, a, kind_a), (second, b, kind_b)
                )
        return code

    def _ternary(self, node: Node) -> tuple[str, str]:
        then, kind_then = self._protected(node.parts[1])
        otherwise, kind_otherwise = self._protected(node.parts[2])
        kind = kind_then if kind_then == kind_otherwise else "any"
        return f"({then} if {self._condition(node.parts[0])} else {otherwise})", kind

    def _elvis(self, node: Node) -> tuple[str, str]:
        name = self._temporary()
        left, right = self._protected(node.parts[0])[0], self._protected(node.parts[1])[0]
        return f"({name} if holds({name} := {left}) else {right})", "any"

    def _coalesce(self, node: Node) -> tuple[str, str]:
        name = self._temporary()
        left, right = self._protected(node.parts[0])[0], self._code(node.parts[1])
        return f"({name} if ({name} := {left}) is not None else {right})", "any"

    def _call(self, node: Node) -> tuple[str, str]:
        function = FUNCTIONS[node.value]
        name = f"f_{node.value[0]}_{node.value[1]}_{len(node.parts)}"
        self.scope[name] = function.caller(len(node.parts))
        forms = function.forms(len(node.parts))
        sure = all(form.never_null and form.returns == "B" for form in forms)
        return f"{name}({', '.join(map(self._code, node.parts))})", "bool" if sure else "any"

    def _member(self, node: Node) -> tuple[str, str]:
        dotted = plain_path(node)
        first = dotted.split(".")[0] if dotted is not None else ""
        if dotted is None or dotted not in self.variables or first not in self.variables:
            return f"member({self._code(node.parts[0])}, {node.value[0]!r})", "any"
        parts = dotted.split(".")
        paths = (".".join(parts[: at + 1]) for at in range(1, len(parts)))
        others = ", ".join(self.variables.get(one, "None") for one in paths)
        return f"path({self.variables[first]}, {tuple(parts[1:])!r}, ({others},))", "any"

    def _index(self, node: Node) -> tuple[str, str]:
        return f"element({self._code(node.parts[0])}, {self._code(node.parts[1])})", "any"

    def _method(self, node: Node, *, safe: bool = False) -> tuple[str, str]:
        name, null_safe = node.value
        value, again, _ = self._twice(node.parts[0])
        arguments = "".join(f", {self._code(part)}" for part in node.parts[1:])
        call = f"method({again}, {name!r}{arguments})"
        if (safe or null_safe) and node.parts[0].kind != "constant":
            return f"(None if {value} is None else {call})", "any"
        if name in _TEXT_METHODS and not arguments:
            fast = _TEXT_METHODS[name].format(f"({again})")
            return f"({fast} if {_class(value)} is str else {call})", "any"
        return f"method({self._code(node.parts[0])}, {name!r}{arguments})", "any"

    def _list(self, node: Node) -> tuple[str, str]:
        return f"[{', '.join(map(self._code, node.parts))}]", "any"

    def _set(self, node: Node) -> tuple[str, str]:
        return f"make_set([{', '.join(map(self._code, node.parts))}])", "any"

    def _map(self, node: Node) -> tuple[str, str]:
        return f"make_map([{', '.join(map(self._code, node.parts))}])", "any"

    def _assign(self, node: Node) -> tuple[str, str]:
        operator, name = node.value
        variable = self.variables[name]
        value = self._code(node.parts[0])
        if operator != "=":
            value = f"{_CHAINS[operator].__name__}({variable}, {value})"
        return f"({variable} := {value})", "any"


def _inline(
    symbol: str,
    function: str,
    classes: str,
    left: tuple[str, str, str],
    right: tuple[str, str, str],
) -> str:
    """The operator itself when the classes of both operands are alike and good for it, else its function.

    Operands are (code of the first use, code of later uses, type).
    """
    first, a, kind_a = left
    second, b, kind_b = right
    known = {kind.__name__ for kind in _CLASSES[classes]}
    if kind_b in known and not second.startswith("("):
        test = f"{_class(first)} is {kind_b}"
        return f"({a} {symbol} {b} if {test} else {function}({a}, {b}))"
    if kind_a in known and not first.startswith("("):
        return f"({a} {symbol} {b} if {_class(second)} is {kind_a} else {function}({a}, {b}))"
    # `&` evaluates both sides, so that each has its value whatever the other is.
    test = f"({_class(first)} is {_class(second)}) & ({_class(a)} in {classes})"
    return f"({a} {symbol} {b} if {test} else {function}({a}, {b}))"


def _class(code: str) -> str:
    """Code of the class of a value."""
    return f"({code}).__class__" if code[0].isdigit() or code[0] == "-" else f"{code}.__class__"


_Statement = Callable[[_Writer, Node], list[str]]
_STATEMENTS: Final[dict[str, _Statement]] = {
    "block": _Writer._block,
    "script": _Writer._block,
    "if": _Writer._if,
    "declare": _Writer._declare,
    "return": _Writer._return,
    "for_each": _Writer._for_each,
    "while": _Writer._while,
    "break": lambda _, __: ["break"],
    "continue": lambda _, __: ["continue"],
    "nothing": lambda _, __: ["result = None"],
}
_Expression = Callable[[_Writer, Node], tuple[str, str]]
_EXPRESSIONS: Final[dict[str, _Expression]] = {
    "constant": _Writer._constant,
    "name": _Writer._name,
    "group": _Writer._group,
    "unary": _Writer._unary,
    "binary": _Writer._binary,
    "chain": _Writer._chain,
    "ternary": _Writer._ternary,
    "elvis": _Writer._elvis,
    "coalesce": _Writer._coalesce,
    "call": _Writer._call,
    "member": _Writer._member,
    "index": _Writer._index,
    "method": _Writer._method,
    "list": _Writer._list,
    "set": _Writer._set,
    "map": _Writer._map,
    "assign": _Writer._assign,
}
