"""Calls of functions and methods as Spark columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from localcdap.api.schema import Schema
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.jexl.native.arithmetic import build_absolute, build_coalesce
from localcdap.plugin_lib.jexl.native.comparisons import build_length
from localcdap.plugin_lib.jexl.native.parts import (
    NoNativeError,
    Part,
    PartOf,
    build_boolean,
    build_constant,
    find_null_failures,
    is_null,
    join_any,
    to_double,
    to_long,
)
from localcdap.plugin_lib.jexl.tree import Node

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
    count = f.coalesce(build_length(parts[0].column), f.lit(0))
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
    ("string", "reverse", 1): build_text_function(wrap_spark_function("reverse")),
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
