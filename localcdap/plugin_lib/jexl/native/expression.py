"""The Spark form of a whole expression: its operators, logic and alternatives, and its calls of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import Schema
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.jexl.native.calculations import (
    build_absolute,
    build_arithmetic,
    build_choice,
    build_coalesce,
    build_empty,
    build_equality,
    build_match,
    build_negation,
    build_ordering,
    build_size,
    has_affix,
)
from localcdap.plugin_lib.jexl.native.parts import (
    Fields,
    NoNativeError,
    Part,
    PartOf,
    build_boolean,
    build_constant,
    find_null_failures,
    is_null,
    join_any,
    join_both,
    to_double,
    to_long,
    to_truth,
)
from localcdap.plugin_lib.jexl.parser import Node, list_local_names
from localcdap.plugin_lib.spark.columns import get_column
from localcdap.plugin_lib.spark.text_units import count_units

if TYPE_CHECKING:
    from pyspark.sql import Column


Make = Callable[[Sequence[Part]], Part]
"""Builds a call from its arguments; the first argument of a method is its object."""


def require_texts(parts: Sequence[Part]) -> None:
    """Reject operands that are not texts, as the functions do on each row."""
    if not all(part.is_text for part in parts):
        raise NoNativeError


def build_text_function(change: Callable[[Column], Column], kind: Schema = Schema.STRING) -> Make:
    """Return a builder for a function of one text, which is null for null."""

    def make(parts: Sequence[Part]) -> Part:
        require_texts(parts)
        return replace(parts[0], column=change(parts[0].column), type=kind)

    return make


def wrap_spark_function(name: str) -> Callable[..., Column]:
    """Return a wrapper of a Spark function, which is imported when it is called."""

    def call(*columns: Column) -> Column:
        from pyspark.sql import functions as f

        made: Column = getattr(f, name)(*columns)
        return made

    return call


def trim(text: Column) -> Column:
    """Remove control characters and spaces at both ends."""
    from pyspark.sql import functions as f

    return f.btrim(text, f.lit(TRIM_CHARACTERS))


def _with_text(change: Callable[[Column, Column], Column], kind: Schema = Schema.BOOLEAN) -> Make:
    """Return a builder for a method of a text with one more text."""

    def make(parts: Sequence[Part]) -> Part:
        require_texts(parts)
        text, other = parts
        failing = join_any(text.failing, find_null_failures(other))
        return Part(change(text.column, other.column), kind, True, failing)

    return make


METHODS: Final[dict[tuple[str, int], Make]] = {
    ("trim", 0): build_text_function(trim),
    ("toUpperCase", 0): build_text_function(wrap_spark_function("upper")),
    ("toLowerCase", 0): build_text_function(wrap_spark_function("lower")),
    ("isEmpty", 0): build_text_function(lambda text: text == "", Schema.BOOLEAN),
    ("contains", 1): _with_text(lambda text, other: text.contains(other)),
    ("startsWith", 1): _with_text(lambda text, other: text.startswith(other)),
    ("endsWith", 1): _with_text(lambda text, other: text.endswith(other)),
    ("concat", 1): _with_text(wrap_spark_function("concat"), Schema.STRING),
}
"""The methods by name and number of further arguments; the caller checks for a null text."""


def _check(holds: Callable[..., Column], *, texts: bool = True) -> Make:
    """Return a builder for a bool of all arguments that is never null."""

    def make(parts: Sequence[Part]) -> Part:
        from pyspark.sql import functions as f

        if texts:
            require_texts(parts)
        return build_boolean(f.coalesce(holds(*parts), f.lit(False)), *parts)

    return make


def _return_argument(one: Part, other: Part) -> Column:
    from pyspark.sql import functions as f

    return f.equal_null(one.column, other.column)


def _build_last_not_null(parts: Sequence[Part]) -> Part:
    return build_coalesce(parts[::-1])


def _replace_null(value: object) -> Make:
    return lambda parts: build_coalesce([parts[0], build_constant(value)])


def _build_concat(parts: Sequence[Part]) -> Part:
    """Build a concatenation that skips a null; two nulls give null."""
    from pyspark.sql import functions as f

    require_texts(parts)
    a, b = (part.column for part in parts)
    column = f.coalesce(f.concat(a, b), a, b)
    nullable = all(part.nullable for part in parts)
    return Part(column, Schema.STRING, nullable, join_any(*(part.failing for part in parts)))


def _build_length(parts: Sequence[Part]) -> Part:
    from pyspark.sql import functions as f

    require_texts(parts)
    count = f.coalesce(count_units(parts[0].column), f.lit(0))
    return Part(count, Schema.INT, False, parts[0].failing, 31)


def _read(convert: Callable[[Part], Part]) -> Make:
    """Return a builder for ``toLong`` …, where a null or empty text is an error."""

    def make(parts: Sequence[Part]) -> Part:
        from pyspark.sql import functions as f

        require_texts(parts)
        given = parts[0]
        read = convert(given)
        empty = f.coalesce(given.column == "", f.lit(True))
        return replace(read, failing=join_any(read.failing, empty))

    return make


def _read_int(parts: Sequence[Part]) -> Part:
    from pyspark.sql import functions as f

    read = _read(to_long)(parts)
    wide = (read.column < -(2**31)) | (read.column >= 2**31)
    too_wide = f.coalesce(wide, f.lit(False))
    column = f.when(~too_wide, read.column).cast("int")
    return Part(column, Schema.INT, True, join_any(read.failing, too_wide), 32)


FUNCTIONS: Final[dict[tuple[str, str, int], Make]] = {
    ("", "IsNull", 1): _check(is_null, texts=False),
    ("", "IsNotNull", 1): _check(lambda value: ~is_null(value), texts=False),
    ("", "NullToEmpty", 1): _replace_null(""),
    ("", "NullToZero", 1): _replace_null(0),
    ("", "NullToValue", 2): build_coalesce,
    **{("", "coalesce", count): build_coalesce for count in range(1, 9)},
    **{("", "rcoalesce", count): _build_last_not_null for count in range(1, 9)},
    ("", "concat", 2): _build_concat,
    ("", "toInteger", 1): _read_int,
    ("", "toLong", 1): _read(to_long),
    ("", "toDouble", 1): _read(to_double),
    ("math", "abs", 1): lambda parts: build_absolute(parts[0]),
    ("dq", "isnull", 1): _check(is_null, texts=False),
    ("dq", "isempty", 1): _check(lambda text: text.column == ""),
    ("string", "upperCase", 1): build_text_function(wrap_spark_function("upper")),
    ("string", "lowerCase", 1): build_text_function(wrap_spark_function("lower")),
    ("string", "trim", 1): build_text_function(trim),
    ("string", "length", 1): _build_length,
    ("string", "defaultString", 1): _replace_null(""),
    ("string", "isEmpty", 1): _check(lambda text: is_null(text) | (text.column == "")),
    ("string", "isNotEmpty", 1): _check(lambda text: text.column != ""),
    ("string", "equals", 2): _check(_return_argument),
    ("string", "contains", 2): _check(lambda text, other: text.column.contains(other.column)),
}
"""The functions by namespace, name and number of arguments."""


def call(of: PartOf, node: Node) -> Part:
    make = FUNCTIONS.get((*node.value, len(node.parts)))
    if make is None:
        raise NoNativeError
    return make([of(part) for part in node.parts])


def build_null_safe(of: PartOf, node: Node) -> Part:
    """Build a node in which a method of null gives null, as in the branches of ``? :``."""
    return build_method(of, node, safe=True) if node.kind == "method" else of(node)


def build_method(of: PartOf, node: Node, *, safe: bool = False) -> Part:
    """Build a method of a text; a null text is an error, or null in a null-safe call."""
    from pyspark.sql import functions as f

    name, null_safe = node.value
    value = of(node.parts[0])
    make = METHODS.get((name, len(node.parts) - 1))
    if make is None or not value.is_text:
        raise NoNativeError
    found = make([value, *(of(part) for part in node.parts[1:])])
    if safe or null_safe:
        column = f.when(value.column.isNotNull(), found.column)
        return replace(found, column=column, nullable=value.nullable or found.nullable)
    return replace(found, failing=join_any(found.failing, find_null_failures(value)))


if TYPE_CHECKING:
    pass


_NEGATED: Final = {"!=": "==", "!~": "=~", "!^": "=^", "!$": "=$"}


def build_unary(of: PartOf, node: Node) -> Part:
    operand = of(node.parts[0])
    if node.value == "!":
        return Part(~to_truth(operand), Schema.BOOLEAN, False, find_null_failures(operand))
    if node.value == "empty":
        return build_empty(operand)
    if node.value == "size" and operand.is_text:
        return build_size(operand)
    if node.value == "-":
        return build_negation(operand)
    raise NoNativeError


def build_binary(of: PartOf, node: Node) -> Part:
    symbol = node.value
    if symbol in _NEGATED:
        found = _build_comparison(of, _NEGATED[symbol], node)
        return replace(found, column=~found.column)
    return _build_comparison(of, symbol, node)


def _build_comparison(of: PartOf, symbol: str, node: Node) -> Part:
    left, right = of(node.parts[0]), of(node.parts[1])
    if symbol == "==":
        return build_equality(left, right)
    if symbol in ("<", ">", "<=", ">="):
        return build_ordering(symbol, left, right)
    if symbol == "=~":
        return build_match(left, node.parts[1])
    if symbol in ("=^", "=$"):
        return has_affix(symbol, left, right)
    raise NoNativeError


def chain(of: PartOf, node: Node) -> Part:
    """Build a chain of operands of equal rank, evaluated from left to right."""
    parts = map(of, node.parts)
    if node.value[0] in ("&&", "||"):
        return _build_logic(node.value[0], list(parts))
    value = next(parts)
    for symbol, part in zip(node.value, parts, strict=True):
        value = build_arithmetic(symbol, value, part)
    return value


def _build_logic(symbol: str, parts: list[Part]) -> Part:
    """Build "and" or "or" of the parts; a part fails only if the parts before it do not decide."""
    value = to_truth(parts[0])
    failing = find_null_failures(parts[0])
    for part in parts[1:]:
        goes_on = value if symbol == "&&" else ~value
        failing = join_any(failing, join_both(goes_on, find_null_failures(part)))
        truth = to_truth(part)
        value = value & truth if symbol == "&&" else value | truth
    return Part(value, Schema.BOOLEAN, False, failing)


def build_ternary(of: PartOf, node: Node) -> Part:
    condition, then, otherwise = (build_null_safe(of, part) for part in node.parts)
    return build_choice(condition, to_truth(condition), then, otherwise)


def build_elvis(of: PartOf, node: Node) -> Part:
    left, right = (build_null_safe(of, part) for part in node.parts)
    return right if left.type == Schema.NULL else build_choice(left, to_truth(left), left, right)


def build_null_coalescing(of: PartOf, node: Node) -> Part:
    return build_coalesce([build_null_safe(of, node.parts[0]), of(node.parts[1])])


@dataclass(frozen=True, slots=True)
class NativeExpression:
    """An expression over the columns of a DataFrame."""

    column: Column
    type: Schema
    """The type. It is nullable if a row can have null; failing rows have null in any case."""
    failing: Column | None
    """A column that is true on the rows for which the batch form raises an error (never null); None: on no
    row.
    """


def build_native(
    root: Node, schema: Schema, column: Callable[[str], Column] | None
) -> NativeExpression | None:
    """Return the Spark form of an expression, or None if it has none.

    :param schema: a record of all columns; any other name is a missing column, and null.
    """
    if len(root.parts) != 1 or list_local_names(root):
        return None
    from pyspark.sql import functions as f

    try:
        part = _build_part(Fields(schema, column or get_column))(root.parts[0])
    except NoNativeError:
        return None
    if part.type == Schema.NULL:
        return None
    value = part.column
    if part.failing is not None:
        value = f.when(~part.failing, value)
    shown = part.type.as_nullable if part.nullable else part.type
    return NativeExpression(value, shown, part.failing)


def _build_part(fields: Fields) -> PartOf:
    def of(node: Node) -> Part:
        if node.kind in ("name", "member"):
            return fields.find_part(node)
        make = _BY_KIND.get(node.kind)
        if make is None:
            raise NoNativeError
        return make(of, node)

    return of


_BY_KIND: Final[dict[str, Callable[[PartOf, Node], Part]]] = {
    "constant": lambda _, node: build_constant(node.value),
    "group": lambda of, node: of(node.parts[0]),
    "unary": build_unary,
    "binary": build_binary,
    "chain": chain,
    "ternary": build_ternary,
    "elvis": build_elvis,
    "coalesce": build_null_coalescing,
    "call": call,
    "method": build_method,
}
