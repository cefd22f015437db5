"""Functions and methods of expressions that have an equal in Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from localcdap.api.schema import Schema
from localcdap.wrangler.jexl.native import NUMBERS, Natives, NoNativeError, Part, either

_Make = Callable[[Natives, list[Part]], Part]

_TRIMMED: Final = "".join(map(chr, range(33)))


def _texts(parts: list[Part]) -> None:
    """Refuses what is no text: the functions refuse it too, on each row."""
    if not all(part.is_text for part in parts):
        raise NoNativeError


def _of_text(change: Callable[[Any, Any], Any], kind: Schema = Schema.STRING) -> _Make:
    """A function of one text that is null for null."""

    def make(natives: Natives, parts: list[Part]) -> Part:
        _texts(parts)
        return replace(parts[0], column=change(natives.f, parts[0].column), type=kind)

    return make


def _check(test: Callable[[Natives, list[Part]], Any], *, texts: bool = True) -> _Make:
    """A bool that is never null."""

    def make(natives: Natives, parts: list[Part]) -> Part:
        if texts:
            _texts(parts)
        column = natives.f.coalesce(test(natives, parts), natives.f.lit(False))
        return natives.condition(column, *parts)

    return make


def _is_null(natives: Natives, parts: list[Part]) -> Any:
    return natives.is_null(parts[0])


def _first_not_null(natives: Natives, parts: list[Part]) -> Part:
    return natives.first_not_null(parts)


def _last_not_null(natives: Natives, parts: list[Part]) -> Part:
    return natives.first_not_null(parts[::-1])


def _null_to(value: Any, kind: Schema) -> _Make:
    def make(natives: Natives, parts: list[Part]) -> Part:
        return natives.first_not_null([parts[0], Part(natives.f.lit(value), kind, nullable=False)])

    return make


def _concat(natives: Natives, parts: list[Part]) -> Part:
    """A null is left out; of two nulls it is null."""
    _texts(parts)
    a, b = (part.column for part in parts)
    column = natives.f.coalesce(natives.f.concat(a, b), a, b)
    nullable = all(part.nullable for part in parts)
    return Part(column, Schema.STRING, nullable, either(*(part.failing for part in parts)))


def _length(natives: Natives, parts: list[Part]) -> Part:
    _texts(parts)
    count = natives.f.coalesce(natives.length(parts[0].column), natives.f.lit(0))
    return Part(count, Schema.INT, False, parts[0].failing, 31)


def _read(convert: Callable[[Natives, Part], Part], *, int_only: bool = False) -> _Make:
    """``toInteger`` …: a null or empty text is an error."""

    def make(natives: Natives, parts: list[Part]) -> Part:
        _texts(parts)
        given = parts[0]
        read = convert(natives, given)
        empty = natives.f.coalesce(given.column == "", natives.f.lit(True))
        failing = either(read.failing, empty)
        if not int_only:
            return replace(read, failing=failing)
        wide = (read.column < -(2**31)) | (read.column >= 2**31)
        too_wide = natives.f.coalesce(wide, natives.f.lit(False))
        column = natives.f.when(~too_wide, read.column).cast("int")
        return Part(column, Schema.INT, True, either(failing, too_wide), 32)

    return make


def _absolute(natives: Natives, parts: list[Part]) -> Part:
    (part,) = parts
    if part.type not in NUMBERS or part.bits > 62:
        raise NoNativeError
    whole = part if part.type == Schema.DOUBLE else natives.to_long(part)
    return replace(whole, column=natives.f.abs(whole.column), failing=natives.fails_on_null(part))


def _argument(change: Callable[[Any, Any, Any], Any], kind: Schema = Schema.STRING) -> _Make:
    """A method of a text with one more text."""

    def make(natives: Natives, parts: list[Part]) -> Part:
        _texts(parts)
        column = change(natives.f, parts[0].column, parts[1].column)
        failing = either(parts[0].failing, natives.fails_on_null(parts[1]))
        return Part(column, kind, True, failing)

    return make


def _trim(f: Any, text: Any) -> Any:
    return f.btrim(text, f.lit(_TRIMMED))


FUNCTIONS: Final[dict[tuple[str, str, int], _Make]] = {
    ("", "IsNull", 1): _check(_is_null, texts=False),
    ("", "IsNotNull", 1): _check(lambda n, p: ~n.is_null(p[0]), texts=False),
    ("", "NullToEmpty", 1): _null_to("", Schema.STRING),
    ("", "NullToZero", 1): _null_to(0, Schema.INT),
    ("", "NullToValue", 2): _first_not_null,
    **{("", "coalesce", count): _first_not_null for count in range(1, 9)},
    **{("", "rcoalesce", count): _last_not_null for count in range(1, 9)},
    ("", "concat", 2): _concat,
    ("", "toInteger", 1): _read(Natives.to_long, int_only=True),
    ("", "toLong", 1): _read(Natives.to_long),
    ("", "toDouble", 1): _read(Natives.to_double),
    ("math", "abs", 1): _absolute,
    ("dq", "isnull", 1): _check(_is_null, texts=False),
    ("dq", "isempty", 1): _check(lambda _, p: p[0].column == ""),
    ("string", "upperCase", 1): _of_text(lambda f, text: f.upper(text)),
    ("string", "lowerCase", 1): _of_text(lambda f, text: f.lower(text)),
    ("string", "trim", 1): _of_text(_trim),
    ("string", "reverse", 1): _of_text(lambda f, text: f.reverse(text)),
    ("string", "length", 1): _length,
    ("string", "defaultString", 1): _null_to("", Schema.STRING),
    ("string", "isEmpty", 1): _check(lambda n, p: n.is_null(p[0]) | (p[0].column == "")),
    ("string", "isNotEmpty", 1): _check(lambda _, p: p[0].column != ""),
    ("string", "equals", 2): _check(lambda n, p: n.f.equal_null(p[0].column, p[1].column)),
    ("string", "contains", 2): _check(lambda _, p: p[0].column.contains(p[1].column)),
}
"""By namespace, name and number of arguments."""

METHODS: Final[dict[tuple[str, int], _Make]] = {
    ("trim", 0): _of_text(_trim),
    ("toUpperCase", 0): _of_text(lambda f, text: f.upper(text)),
    ("toLowerCase", 0): _of_text(lambda f, text: f.lower(text)),
    ("isEmpty", 0): _of_text(lambda _, text: text == "", Schema.BOOLEAN),
    ("contains", 1): _argument(lambda _, text, other: text.contains(other), Schema.BOOLEAN),
    ("startsWith", 1): _argument(lambda _, text, other: text.startswith(other), Schema.BOOLEAN),
    ("endsWith", 1): _argument(lambda _, text, other: text.endswith(other), Schema.BOOLEAN),
    ("concat", 1): _argument(lambda f, text, other: f.concat(text, other)),
}
"""Methods of texts by name and number of further arguments; a null text is told by their caller."""
