"""Conditions of aggregate functions: a subset of JEXL, compiled to Spark expressions.

Conditions have field names (``a.b`` for a member of a nested record), strings, numbers, ``true``, ``false``,
``null``, comparisons, ``&& || !`` (also ``and or not eq ne lt le gt ge``), arithmetic, and some methods of
Java's strings. Null equals only null and is neither less nor greater than any value. Other operations on null
are false, where JEXL would fail the run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from localcdap.api import LogicalType, Schema, Type
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from pyspark.sql import Column

_GRAMMAR: Final = r"""
?start: or_
?or_: and_ | or_ ("||" | "or") and_ -> either
?and_: not_ | and_ ("&&" | "and") not_ -> both
?not_: comparison | ("!" | "not") not_ -> negated
?comparison: sum | sum COMPARE sum -> compare
?sum: product | sum ADD product -> arithmetic
?product: unary | product MULTIPLY unary -> arithmetic
?unary: postfix | "-" unary -> minus
?postfix: primary | postfix "." NAME -> member | postfix "." NAME "(" [or_ ("," or_)*] ")" -> method
?primary: NUMBER -> number | STRING -> text | "true" -> true | "false" -> false | "null" -> null
    | NAME -> variable | "(" or_ ")"
COMPARE: "==" | "!=" | "<=" | ">=" | "<" | ">" | /(eq|ne|le|ge|lt|gt)\b/
ADD: "+" | "-"
MULTIPLY: "*" | "/" | "%" | /(div|mod)\b/
NAME: /[A-Za-z_$][\w$]*/
NUMBER: /\d+(\.\d+)?([eE][+-]?\d+)?[lLfFdD]?/
STRING: /'([^'\\]|\\.)*'/ | /"([^"\\]|\\.)*"/
%ignore /\s+/
"""
COMPARE_WORDS: Final = {"eq": "==", "ne": "!=", "le": "<=", "ge": ">=", "lt": "<", "gt": ">"}
_INTEGER, _NUMBER, _TEXT, _BOOLEAN, _NULL, _RECORD = (
    "integer",
    "number",
    "string",
    "boolean",
    "null",
    "record",
)
_NUMBERS: Final = (_INTEGER, _NUMBER)


class ConditionError(ValueError):
    """A condition is invalid; the message says why and where."""


class UnknownFieldError(ConditionError):
    """A condition names a field that the input lacks."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Field {name} not found in output schema.")
        self.name = name


class CompiledExpression(NamedTuple):
    """A compiled part of a condition: the kind of its value and its column."""

    kind: str
    """``integer``, ``number``, ``string``, ``boolean``, ``null``, ``record``, or another type's name."""
    build_column: Callable[[], Column]
    """Builds the column; pyspark is only imported then."""
    schema: Schema | None = None
    """The schema of a field; None for other parts."""


class AggregateCondition(NamedTuple):
    """A compiled condition."""

    text: str
    fields: frozenset[str]
    """The input fields that the condition reads."""
    build_column: Callable[[], Column]
    """Builds a column that is true or false, never null."""


def compile_condition(text: str, schema: Schema) -> AggregateCondition:
    """Compile a condition on the fields of a record.

    :raises UnknownFieldError: for a field that the record lacks.
    :raises ConditionError: for any other invalid or unsupported part.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken

    try:
        tree = _load_parser().parse(text)
    except UnexpectedEOF:
        raise ConditionError(f"Condition '{text}' is incomplete.") from None
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise ConditionError(f"Condition '{text}' is incomplete.") from None
        raise ConditionError(_describe_unexpected(text, str(error.token), error.column)) from None
    except UnexpectedCharacters as error:
        raise ConditionError(_describe_unexpected(text, error.char, error.column)) from None
    compiler = _Compiler(schema)
    made = compiler.compile(tree)
    if made.kind != _BOOLEAN:
        raise ConditionError(
            f"The value of condition '{text}' is of type {made.kind}, not true or false."
        )
    return AggregateCondition(
        text, frozenset(compiler.fields), lambda: _make_non_null(made.build_column())
    )


@lru_cache(maxsize=1)
def _load_parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr", propagate_positions=True)


def _describe_unexpected(text: str, found: str, position: int) -> str:
    return f"'{found}' at position {position} of condition '{text}' is not supported."


class _Compiler:
    """Compiles the syntax tree of one condition and collects its fields."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.fields: set[str] = set()

    def compile(self, node: Tree[Token] | Any) -> CompiledExpression:
        made: CompiledExpression = getattr(self, f"_compile_{node.data}")(*node.children)
        return made

    def _compile_variable(self, name: Token) -> CompiledExpression:
        found = self._schema.field(str(name))
        if found is None:
            raise UnknownFieldError(str(name))
        self.fields.add(found.name)
        return _build_value(found.schema, lambda: get_column(found.name))

    def _compile_member(self, owner: Any, name: Token) -> CompiledExpression:
        outer = self.compile(owner)
        found = outer.schema.field(str(name)) if outer.kind == _RECORD and outer.schema else None
        if found is None:
            raise UnknownFieldError(str(name))
        return _build_value(found.schema, lambda: outer.build_column().getField(found.name))

    def _compile_number(self, token: Token) -> CompiledExpression:
        digits = str(token).rstrip("lLfFdD")
        if digits.isdigit() and str(token)[-1] not in "fFdD":
            return _build_literal(_INTEGER, int(digits))
        return _build_literal(_NUMBER, float(digits))

    def _compile_text(self, token: Token) -> CompiledExpression:
        return _build_literal(_TEXT, _unescape(str(token)[1:-1]))

    def _compile_true(self) -> CompiledExpression:
        return _build_literal(_BOOLEAN, True)

    def _compile_false(self) -> CompiledExpression:
        return _build_literal(_BOOLEAN, False)

    def _compile_null(self) -> CompiledExpression:
        return _build_literal(_NULL, None)

    def _compile_either(self, left: Any, right: Any) -> CompiledExpression:
        a, b = self._compile_boolean(left), self._compile_boolean(right)
        return CompiledExpression(_BOOLEAN, lambda: a() | b())

    def _compile_both(self, left: Any, right: Any) -> CompiledExpression:
        a, b = self._compile_boolean(left), self._compile_boolean(right)
        return CompiledExpression(_BOOLEAN, lambda: a() & b())

    def _compile_negated(self, operand: Any) -> CompiledExpression:
        value = self._compile_boolean(operand)
        return CompiledExpression(_BOOLEAN, lambda: ~value())

    def _compile_boolean(self, node: Any) -> Callable[[], Column]:
        made = self.compile(node)
        if made.kind != _BOOLEAN:
            raise ConditionError(
                f"Expected true or false {_describe_position(node)}, not a {made.kind}."
            )
        return lambda: _make_non_null(made.build_column())

    def _compile_minus(self, operand: Any) -> CompiledExpression:
        value = self._compile_number_operand(operand)
        return CompiledExpression(value.kind, lambda: -value.build_column())

    def _compile_number_operand(self, node: Any) -> CompiledExpression:
        made = self.compile(node)
        if made.kind not in _NUMBERS:
            raise ConditionError(
                f"Expected a number {_describe_position(node)}, not a {made.kind}."
            )
        return made

    def _compile_arithmetic(self, left: Any, operator: Token, right: Any) -> CompiledExpression:
        a, b = self._compile_number_operand(left), self._compile_number_operand(right)
        kind = _INTEGER if a.kind == b.kind == _INTEGER else _NUMBER
        return CompiledExpression(
            kind, lambda: _build_arithmetic(str(operator), kind, a.build_column(), b.build_column())
        )

    def _compile_compare(self, left: Any, token: Token, right: Any) -> CompiledExpression:
        a, b = self.compile(left), self.compile(right)
        operator = COMPARE_WORDS.get(str(token), str(token))
        is_equality = operator in ("==", "!=")
        if not _is_comparable(a.kind, b.kind) or (_RECORD in (a.kind, b.kind) and not is_equality):
            raise ConditionError(
                f"'{token}' at position {token.column} cannot compare a {a.kind} with a {b.kind}."
            )
        return CompiledExpression(_BOOLEAN, lambda: _build_comparison(operator, a, b))

    def _compile_method(self, owner: Any, name: Token, *arguments: Any) -> CompiledExpression:
        method, given = str(name), [a for a in arguments if a is not None]
        text = self.compile(owner)
        if method == "equals" and len(given) == 1:
            return self._compile_compare(owner, name.update(value="=="), given[0])
        known = _METHODS.get(method)
        if known is None or text.kind != _TEXT or len(given) != known.arguments:
            raise ConditionError(
                f"'{method}' at position {name.column} is not supported with {len(given)} arguments on "
                f"a {text.kind}; on strings there are equals, {', '.join(_METHODS)}."
            )
        values = [self.compile(argument) for argument in given]
        if any(value.kind != _TEXT for value in values):
            raise ConditionError(f"'{method}' at position {name.column} needs a string.")
        return CompiledExpression(
            known.kind,
            lambda: known.apply(text.build_column(), *[v.build_column() for v in values]),
        )


class _Method(NamedTuple):
    kind: str
    arguments: int
    apply: Callable[..., Column]


def _import_functions() -> Any:
    from pyspark.sql import functions

    return functions


_METHODS: Final = {
    "equalsIgnoreCase": _Method(
        _BOOLEAN,
        1,
        lambda s, other: _import_functions().lower(s) == _import_functions().lower(other),
    ),
    "contains": _Method(_BOOLEAN, 1, lambda s, part: s.contains(part)),
    "startsWith": _Method(_BOOLEAN, 1, lambda s, part: s.startswith(part)),
    "endsWith": _Method(_BOOLEAN, 1, lambda s, part: s.endswith(part)),
    "isEmpty": _Method(_BOOLEAN, 0, lambda s: s == _import_functions().lit("")),
    "length": _Method(_INTEGER, 0, lambda s: _import_functions().length(s)),
    "toLowerCase": _Method(_TEXT, 0, lambda s: _import_functions().lower(s)),
    "toUpperCase": _Method(_TEXT, 0, lambda s: _import_functions().upper(s)),
    "trim": _Method(_TEXT, 0, lambda s: _import_functions().trim(s)),
}


def _build_value(schema: Schema, make: Callable[[], Column]) -> CompiledExpression:
    return CompiledExpression(_get_kind(schema), make, schema.non_nullable)


def _get_kind(schema: Schema) -> str:
    inner = schema.non_nullable
    if inner.logical_type is not None:
        return _NUMBER if inner.logical_type is LogicalType.DECIMAL else inner.logical_type.value
    kinds = {
        Type.INT: _INTEGER,
        Type.LONG: _INTEGER,
        Type.FLOAT: _NUMBER,
        Type.DOUBLE: _NUMBER,
        Type.ENUM: _TEXT,
    }
    return kinds.get(inner.type, inner.type.value)


def _build_literal(kind: str, value: Any) -> CompiledExpression:
    return CompiledExpression(kind, lambda: _import_functions().lit(value))


def _unescape(text: str) -> str:
    parts = text.split("\\\\")
    return "\\".join(part.replace("\\", "") for part in parts)


def _describe_position(node: Any) -> str:
    return f"at position {node.meta.column}" if hasattr(node.meta, "column") else "in the condition"


def _is_comparable(a: str, b: str) -> bool:
    kinds = {a, b}
    return len(kinds) == 1 or _NULL in kinds or kinds <= {*_NUMBERS, _TEXT}


def _make_non_null(value: Column) -> Column:
    made: Column = _import_functions().coalesce(value, _import_functions().lit(False))
    return made


def _build_comparison(operator: str, a: CompiledExpression, b: CompiledExpression) -> Column:
    if _NULL in (a.kind, b.kind):
        return _build_null_comparison(operator, a, b)
    left, right = a.build_column(), b.build_column()
    # JEXL compares numerically if one side is a number.
    if a.kind == _TEXT and b.kind in _NUMBERS:
        left = left.try_cast("double")
    elif b.kind == _TEXT and a.kind in _NUMBERS:
        right = right.try_cast("double")
    match operator:
        case "==":
            return left.eqNullSafe(right)
        case "!=":
            return ~left.eqNullSafe(right)
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def _build_null_comparison(operator: str, a: CompiledExpression, b: CompiledExpression) -> Column:
    value = (b if a.kind == _NULL else a).build_column()
    match operator:
        case "==":
            return value.isNull()
        case "!=":
            return value.isNotNull()
        case _:
            made: Column = _import_functions().lit(False)
            return made


def _build_arithmetic(operator: str, kind: str, left: Column, right: Column) -> Column:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "%" | "mod":
            return left % right
        case _ if kind == _INTEGER:
            made: Column = _import_functions().call_function("div", left, right)
            return made
        case _:
            return left / right
