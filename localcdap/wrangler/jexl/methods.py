"""The methods of values, declared as functions whose first argument is the value."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from localcdap.java import numbers
from localcdap.java.formatter import format_text
from localcdap.java.regex import compile_regex
from localcdap.java.text import TRIMMED, java_text, nearest_float
from localcdap.wrangler.jexl.functions.decimals import scale_of
from localcdap.wrangler.jexl.functions.registry import Function, Overload
from localcdap.wrangler.jexl.operators.comparisons import compare
from localcdap.wrangler.jexl.operators.measures import is_empty, size, text_length

METHODS: Final[dict[tuple[str, str], Function]] = {}
"""Methods by kind of value (see :func:`kind_of`) and name."""

_KINDS: Final = {str: "text", bool: "boolean", int: "number", float: "number", Decimal: "number"}


def kind_of(value: Any) -> str:
    """Which methods a value has: text, number, boolean, list, map, date, or any."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, Mapping):
        return "map"
    if isinstance(value, list | tuple | set | range):
        return "list"
    return "date" if isinstance(value, datetime.date | datetime.time) else "any"


def _method(kind: str, signature: str, *names: str) -> Any:
    def declare(run: Any) -> Any:
        taken, _, returns = signature.partition("->")
        kinds = taken.split()
        rest = kinds.pop().removesuffix("*") if kinds and kinds[-1].endswith("*") else None
        overload = Overload(("O", *kinds), rest, returns.strip()[0], not returns.endswith("?"), run)
        for name in names:
            METHODS.setdefault((kind, name), Function(kind, name)).overloads.append(overload)
        return run

    return declare


# -- every value ------------------------------------------------------------------------------------


def _same(value: Any, other: Any) -> bool:
    """Java's ``equals``: of one class only, ``1`` is not ``1.0``."""
    return type(value) is type(other) and bool(value == other)


def hash_code(value: Any) -> int:
    if isinstance(value, str):
        return _text_hash(value)
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, int):
        return (
            value if numbers.wrap(value, 32) == value else numbers.wrap(value ^ (value >> 32), 32)
        )
    raise ValueError("its hash code differs from Java's")


def _text_hash(text: str) -> int:
    result = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        result = (31 * result + units[at] * 256 + units[at + 1]) & 0xFFFFFFFF
    return numbers.wrap(result, 32)


def _declare_for_all() -> None:
    _method("any", "-> S", "toString")(java_text)
    _method("any", "O -> B", "equals")(_same)
    _method("any", "-> I", "hashCode")(hash_code)
    _method("any", "-> I", "size")(size)
    _method("any", "-> B", "empty")(is_empty)


# -- texts ------------------------------------------------------------------------------------------


def _checked(text: str, start: int, end: int) -> None:
    if not 0 <= start <= end <= len(text):
        raise ValueError(
            f"there is no part from {start} to {end} in a text of {len(text)} characters"
        )


def _part(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    _checked(text, start, last)
    return text[start:last]


def _char_at(text: str, at: int) -> str:
    _checked(text, at, at + 1)
    return text[at]


def _compare_texts(text: str, other: str) -> int:
    for one, two in zip(text, other, strict=False):
        if one != two:
            return ord(one) - ord(two)
    return len(text) - len(other)


def _replace_limited(text: str, pattern: str, replacement: str) -> str:
    return compile_regex(pattern).replace(text, replacement, 1)


def _declare_texts() -> None:
    def text(signature: str, *names: str) -> Any:
        return _method("text", signature, *names)

    text("-> I", "length")(text_length)
    text("-> B", "isEmpty")(lambda text: not text)
    text("-> B", "isBlank")(lambda text: not text.strip())
    text("-> S", "trim")(lambda text: text.strip(TRIMMED))
    text("-> S", "strip")(str.strip)
    text("-> S", "stripLeading")(str.lstrip)
    text("-> S", "stripTrailing")(str.rstrip)
    text("-> S", "toUpperCase")(str.upper)
    text("-> S", "toLowerCase")(str.lower)
    text("-> S", "intern", "toString")(lambda text: text)
    text("I -> S", "substring")(_part)
    text("I I -> S", "substring", "subSequence")(_part)
    text("I -> S", "charAt")(_char_at)
    text("I -> I", "codePointAt")(lambda text, at: ord(_char_at(text, at)))
    text("S -> S", "concat")(lambda text, other: text + other)
    text("I -> S", "repeat")(lambda text, count: text * _limited(len(text), count))
    text("S -> B", "contains")(lambda text, other: other in text)
    text("S -> B", "startsWith")(str.startswith)
    text("S I -> B", "startsWith")(lambda text, other, at: at >= 0 and text.startswith(other, at))
    text("S -> B", "endsWith")(str.endswith)
    text("S -> B", "equalsIgnoreCase")(
        lambda text, other: other is not None and text.lower() == other.lower()
    )
    text("S -> B", "contentEquals")(lambda text, other: text == other)
    text("S -> I", "compareTo")(_compare_texts)
    text("S -> I", "compareToIgnoreCase")(
        lambda text, other: _compare_texts(text.lower(), other.lower())
    )
    text("S -> I", "indexOf")(str.find)
    text("S I -> I", "indexOf")(lambda text, other, at: text.find(other, max(at, 0)))
    text("S -> I", "lastIndexOf")(str.rfind)
    text("S I -> I", "lastIndexOf")(
        lambda text, other, at: text.rfind(other, 0, max(at + len(other), 0))
    )
    text("S S -> S", "replace")(lambda text, old, new: text.replace(old, new))
    text("S S -> S", "replaceAll")(lambda text, old, new: compile_regex(old).replace(text, new))
    text("S S -> S", "replaceFirst")(_replace_limited)
    text("S -> B", "matches")(lambda text, pattern: compile_regex(pattern).matches(text))
    text("S -> A", "split")(lambda text, pattern: compile_regex(pattern).split(text))
    text("S I -> A", "split")(
        lambda text, pattern, limit: compile_regex(pattern).split(text, limit)
    )
    text("-> Y", "getBytes")(lambda text: text.encode("utf-8", "replace"))
    text("S -> Y", "getBytes")(lambda text, charset: text.encode(charset, "replace"))
    text("-> A", "toCharArray")(list)
    text("O* -> S", "format", "formatted")(lambda text, *values: format_text(text, values))


def _limited(length: int, count: int) -> int:
    if count < 0 or length * count > 10_000_000:
        raise ValueError(f"a text cannot be repeated {count} times")
    return count


# -- numbers and booleans ---------------------------------------------------------------------------


def _compare(value: Any, other: Any) -> int:
    if other is None:
        raise ValueError("the other value is null")
    return compare(value, other)


def _whole(value: Any, bits: int) -> int:
    return (
        numbers.truncated(value, bits)
        if isinstance(value, float)
        else numbers.wrap(int(value), bits)
    )


def _declare_numbers() -> None:
    def number(signature: str, *names: str) -> Any:
        return _method("number", signature, *names)

    number("-> I", "intValue")(lambda value: _whole(value, 32))
    number("-> L", "longValue")(lambda value: _whole(value, 64))
    number("-> I", "shortValue")(lambda value: numbers.wrap(_whole(value, 32), 16))
    number("-> I", "byteValue")(lambda value: numbers.wrap(_whole(value, 32), 8))
    number("-> D", "doubleValue")(float)
    number("-> F", "floatValue")(lambda value: nearest_float(float(value)))
    number("N -> I", "compareTo")(_compare)
    number("-> B", "isNaN")(lambda value: value != value)
    number("-> B", "isInfinite")(lambda value: isinstance(value, float) and math.isinf(value))
    number("-> I", "scale")(lambda value: scale_of(_decimal(value)))
    number("-> I", "precision")(lambda value: len(_decimal(value).as_tuple().digits))
    number("-> I", "signum")(lambda value: (value > 0) - (value < 0))
    number("-> M", "abs")(lambda value: abs(_decimal(value)))
    number("-> M", "negate")(lambda value: -_decimal(value))
    number("-> S", "toPlainString")(lambda value: format(_decimal(value), "f"))
    number("-> M", "stripTrailingZeros")(lambda value: _decimal(value).normalize())
    number("M -> M", "add")(lambda value, other: _decimal(value) + other)
    number("M -> M", "subtract")(lambda value, other: _decimal(value) - other)
    number("M -> M", "multiply")(lambda value, other: _decimal(value) * other)
    _method("boolean", "-> B", "booleanValue")(lambda value: value)


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value
    raise ValueError("only decimals have it")


# -- lists and maps ---------------------------------------------------------------------------------


def _get(values: Any, at: int) -> Any:
    if not 0 <= at < len(values):
        raise ValueError(f"the list has {len(values)} elements, none at {at}")
    return values[at]


def _index(values: Any, wanted: Any) -> int:
    return next((at for at, value in enumerate(values) if value == wanted), -1)


def _declare_collections() -> None:
    def listed(signature: str, *names: str) -> Any:
        return _method("list", signature, *names)

    def mapped(signature: str, *names: str) -> Any:
        return _method("map", signature, *names)

    listed("-> I", "size", "length")(len)
    listed("-> B", "isEmpty")(lambda values: not values)
    listed("I -> O", "get", "getAsString")(_get)
    listed("O -> B", "contains")(lambda values, wanted: wanted in values)
    listed("A -> B", "containsAll")(lambda values, wanted: all(one in values for one in wanted))
    listed("O -> I", "indexOf")(_index)
    listed("I I -> A", "subList")(lambda values, start, end: list(values)[start:end])
    mapped("-> I", "size", "width", "length")(len)
    mapped("-> B", "isEmpty")(lambda values: not values)
    mapped("O -> O", "get", "getValue")(_entry)
    mapped("O O -> O", "getOrDefault")(lambda values, key, default: values.get(key, default))
    mapped("O -> B", "containsKey", "has")(lambda values, key: key in values)
    mapped("O -> B", "containsValue")(lambda values, value: value in list(values.values()))
    mapped("-> A", "keySet", "keys")(list)
    mapped("-> A", "values")(lambda values: list(values.values()))
    mapped("S -> I", "find")(lambda row, name: _index([key.lower() for key in row], name.lower()))
    mapped("I -> S", "getColumn")(lambda row, at: _get(list(row), at))


def _entry(values: Any, key: Any) -> Any:
    if isinstance(key, int) and key not in values:
        return _get(list(values.values()), key)
    look_up = getattr(values, "value", None)
    return look_up(key) if look_up is not None and isinstance(key, str) else values.get(key)


# -- dates and times --------------------------------------------------------------------------------


def _plus(unit: str, sign: int) -> Any:
    return lambda value, count: value + datetime.timedelta(**{unit: sign * count})


def _declare_dates() -> None:
    def date(signature: str, *names: str) -> Any:
        return _method("date", signature, *names)

    date("-> I", "getYear")(lambda value: value.year)
    date("-> I", "getMonthValue")(lambda value: value.month)
    date("-> S", "getMonth")(lambda value: value.strftime("%B").upper())
    date("-> I", "getDayOfMonth")(lambda value: value.day)
    date("-> I", "getDayOfYear")(lambda value: value.timetuple().tm_yday)
    date("-> S", "getDayOfWeek")(lambda value: value.strftime("%A").upper())
    date("-> I", "getHour")(lambda value: value.hour)
    date("-> I", "getMinute")(lambda value: value.minute)
    date("-> I", "getSecond")(lambda value: value.second)
    date("-> I", "getNano")(lambda value: value.microsecond * 1000)
    date("-> O", "toLocalDate")(lambda value: value.date())
    date("-> O", "toLocalTime")(lambda value: value.time())
    date("-> O", "toLocalDateTime")(lambda value: value.replace(tzinfo=None))
    date("-> L", "toEpochSecond")(lambda value: int(value.timestamp()))
    date("-> L", "toEpochDay")(lambda value: value.toordinal() - 719_163)
    date("O -> B", "isBefore")(lambda value, other: value < other)
    date("O -> B", "isAfter")(lambda value, other: value > other)
    date("O -> B", "isEqual")(lambda value, other: value == other)
    date("O -> I", "compareTo")(_compare)
    for unit in ("days", "weeks", "hours", "minutes", "seconds"):
        date("L -> O", f"plus{unit.title()}")(_plus(unit, 1))
        date("L -> O", f"minus{unit.title()}")(_plus(unit, -1))


_declare_for_all()
_declare_texts()
_declare_numbers()
_declare_collections()
_declare_dates()
