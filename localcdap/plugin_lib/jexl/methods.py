"""The methods that expressions call on values, by the kind of the value, and members of maps and lists.

The methods are those of the Java class that the original has the value in, such as ``String.substring``.
"""

from __future__ import annotations

import datetime
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeVar

from localcdap.java import numbers
from localcdap.java.regex import compile_regex
from localcdap.java.string_format import format_text
from localcdap.java.strings import TRIM_CHARACTERS, round_to_float, to_java_string
from localcdap.plugin_lib.jexl.errors import EvaluationError, fail, type_name
from localcdap.plugin_lib.jexl.functions.decimals import scale_of
from localcdap.plugin_lib.jexl.functions.registry import Function, Overload, parse_signature
from localcdap.plugin_lib.jexl.operators import compare, count_characters, count_elements, is_empty

_F = TypeVar("_F", bound=Callable[..., Any])

METHODS: Final[dict[tuple[str, str], Function]] = {}
"""Methods by kind of value (see :func:`get_kind`) and name."""
_KINDS: Final = {str: "text", bool: "boolean", int: "number", float: "number", Decimal: "number"}


def get_kind(value: Any) -> str:
    """Return the kind of a value, which decides its methods: text, number, boolean, list, map, date, or
    any.
    """
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, Mapping):
        return "map"
    if isinstance(value, list | tuple | set | range):
        return "list"
    return "date" if isinstance(value, datetime.date | datetime.time) else "any"


class MethodsOf:
    """The decorator that declares the methods of one kind of value.

    The signature is that of :mod:`localcdap.plugin_lib.jexl.functions.registry`, without the value
    itself.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __call__(self, signature: str, *names: str) -> Callable[[_F], _F]:
        def declare(run: _F) -> _F:
            kinds, rest, returns = parse_signature(signature)
            overload = Overload(("O", *kinds), rest, returns[0], not returns.endswith("?"), run)
            for name in names:
                function = METHODS.setdefault((self._kind, name), Function(self._kind, name))
                function.overloads.append(overload)
            return run

        return declare


every = MethodsOf("any")


def _return_value(value: Any, other: Any) -> bool:
    """Compare like Java's ``equals``: values of different classes differ, so ``1`` is not ``1.0``."""
    return type(value) is type(other) and bool(value == other)


def _hash_code(value: Any) -> int:
    if isinstance(value, str):
        return _hash_text(value)
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, int):
        return (
            value if numbers.wrap(value, 32) == value else numbers.wrap(value ^ (value >> 32), 32)
        )
    raise ValueError("its hash code differs from Java's")


def _hash_text(text: str) -> int:
    result = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        result = (31 * result + units[at] * 256 + units[at + 1]) & 0xFFFFFFFF
    return numbers.wrap(result, 32)


def compare_to(value: Any, other: Any) -> int:
    """Compare like Java's ``compareTo``, which dates and numbers have."""
    if other is None:
        raise ValueError("the other value is null")
    return compare(value, other)


every("-> S", "toString")(to_java_string)
every("O -> B", "equals")(_return_value)
every("-> I", "hashCode")(_hash_code)
every("-> I", "size")(count_elements)
every("-> B", "empty")(is_empty)


number = MethodsOf("number")
boolean = MethodsOf("boolean")


def _check_whole(value: Any, bits: int) -> int:
    return (
        numbers.truncate_to_int(value, bits)
        if isinstance(value, float)
        else numbers.wrap(int(value), bits)
    )


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Decimal):
        return value
    raise ValueError("only decimals have it")


number("-> I", "intValue")(lambda value: _check_whole(value, 32))
number("-> L", "longValue")(lambda value: _check_whole(value, 64))
number("-> I", "shortValue")(lambda value: numbers.wrap(_check_whole(value, 32), 16))
number("-> I", "byteValue")(lambda value: numbers.wrap(_check_whole(value, 32), 8))
number("-> D", "doubleValue")(float)
number("-> F", "floatValue")(lambda value: round_to_float(float(value)))
number("N -> I", "compareTo")(compare_to)
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
boolean("-> B", "booleanValue")(lambda value: value)


text = MethodsOf("text")


def _check_index(text: str, start: int, end: int) -> None:
    if not 0 <= start <= end <= len(text):
        raise ValueError(
            f"there is no part from {start} to {end} in a text of {len(text)} characters"
        )


def _get_substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    _check_index(text, start, last)
    return text[start:last]


def _get_char(text: str, at: int) -> str:
    _check_index(text, at, at + 1)
    return text[at]


def _compare_texts(text: str, other: str) -> int:
    for one, two in zip(text, other, strict=False):
        if one != two:
            return ord(one) - ord(two)
    return len(text) - len(other)


def _replace_limited(text: str, pattern: str, replacement: str) -> str:
    return compile_regex(pattern).replace(text, replacement, 1)


def _limit_parts(length: int, count: int) -> int:
    if count < 0 or length * count > 10_000_000:
        raise ValueError(f"a text cannot be repeated {count} times")
    return count


text("-> I", "length")(count_characters)
text("-> B", "isEmpty")(lambda text: not text)
text("-> B", "isBlank")(lambda text: not text.strip())
text("-> S", "trim")(lambda text: text.strip(TRIM_CHARACTERS))
text("-> S", "strip")(str.strip)
text("-> S", "stripLeading")(str.lstrip)
text("-> S", "stripTrailing")(str.rstrip)
text("-> S", "toUpperCase")(str.upper)
text("-> S", "toLowerCase")(str.lower)
text("-> S", "intern", "toString")(lambda text: text)
text("I -> S", "substring")(_get_substring)
text("I I -> S", "substring", "subSequence")(_get_substring)
text("I -> S", "charAt")(_get_char)
text("I -> I", "codePointAt")(lambda text, at: ord(_get_char(text, at)))
text("S -> S", "concat")(lambda text, other: text + other)
text("I -> S", "repeat")(lambda text, count: text * _limit_parts(len(text), count))
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
text("S I -> A", "split")(lambda text, pattern, limit: compile_regex(pattern).split(text, limit))
text("-> Y", "getBytes")(lambda text: text.encode("utf-8", "replace"))
text("S -> Y", "getBytes")(lambda text, charset: text.encode(charset, "replace"))
text("-> A", "toCharArray")(list)
text("O* -> S", "format", "formatted")(lambda text, *values: format_text(text, values))


date = MethodsOf("date")


def _add_days(unit: str, sign: int) -> Any:
    return lambda value, count: value + datetime.timedelta(**{unit: sign * count})


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
date("O -> I", "compareTo")(compare_to)
for unit in ("days", "weeks", "hours", "minutes", "seconds"):
    date("L -> O", f"plus{unit.title()}")(_add_days(unit, 1))
    date("L -> O", f"minus{unit.title()}")(_add_days(unit, -1))


listed = MethodsOf("list")
mapped = MethodsOf("map")


def _get(values: Any, at: int) -> Any:
    if not 0 <= at < len(values):
        raise ValueError(f"the list has {len(values)} elements, none at {at}")
    return values[at]


def _index(values: Any, wanted: Any) -> int:
    return next((at for at, value in enumerate(values) if value == wanted), -1)


def _get_entry(values: Any, key: Any) -> Any:
    if isinstance(key, int) and key not in values:
        return _get(list(values.values()), key)
    look_up = getattr(values, "value", None)
    return look_up(key) if look_up is not None and isinstance(key, str) else values.get(key)


listed("-> I", "size", "length")(len)
listed("-> B", "isEmpty")(lambda values: not values)
listed("I -> O", "get", "getAsString")(_get)
listed("O -> B", "contains")(lambda values, wanted: wanted in values)
listed("A -> B", "containsAll")(lambda values, wanted: all(one in values for one in wanted))
listed("O -> I", "indexOf")(_index)
listed("I I -> A", "subList")(lambda values, start, end: list(values)[start:end])
mapped("-> I", "size", "width", "length")(len)
mapped("-> B", "isEmpty")(lambda values: not values)
mapped("O -> O", "get", "getValue")(_get_entry)
mapped("O O -> O", "getOrDefault")(lambda values, key, default: values.get(key, default))
mapped("O -> B", "containsKey", "has")(lambda values, key: key in values)
mapped("O -> B", "containsValue")(lambda values, value: value in list(values.values()))
mapped("-> A", "keySet", "keys")(list)
mapped("-> A", "values")(lambda values: list(values.values()))
mapped("S -> I", "find")(lambda row, name: _index([key.lower() for key in row], name.lower()))
mapped("I -> S", "getColumn")(lambda row, at: _get(list(row), at))


def get_element(value: Any, index: Any) -> Any:
    """Return ``value[index]``: the entry of a map or row by key, the element of a list by position; null
    for null.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        found = value.get(index)
        if found is None and index not in value and isinstance(index, str):
            return _find_ignoring_case(value, index)
        return found
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return _get_at(value, index)
    return fail(f"A {type_name(value)} has no elements")


def _find_ignoring_case(value: Mapping[Any, Any], name: str) -> Any:
    """Return the entry of a key. Rows find their columns without regard to case; other maps do not."""
    look_up = getattr(value, "value", None)
    return look_up(name) if look_up is not None else None


def _get_at(value: Sequence[Any], index: Any) -> Any:
    if isinstance(index, str) and index.isdigit():
        index = int(index)
    if not isinstance(index, int) or isinstance(index, bool):
        fail(f"A list has no element '{index}'")
    if not 0 <= index < len(value):
        fail(f"The list has {len(value)} elements, none at {index} (the first is at 0)")
    return value[index]


def get_member(value: Any, name: str) -> Any:
    """Return ``value.name``: an entry of a map, an element of a list, or a property such as ``year`` of a
    date.
    """
    if value is None:
        return None
    if isinstance(value, Mapping):
        return get_element(value, name)
    if name.isdigit():
        return get_element(value, name)
    getters = (name, f"get{name[:1].upper()}{name[1:]}", f"is{name[:1].upper()}{name[1:]}")
    for getter in getters:
        if (get_kind(value), getter) in METHODS and METHODS[get_kind(value), getter].find_overloads(
            1
        ):
            return METHODS[get_kind(value), getter].build_caller(1)(value)
    return fail(f"A {type_name(value)} has no '{name}'")


def call_method(value: Any, name: str, *arguments: Any) -> Any:
    """Return ``value.name(arguments)``; null has no methods."""
    if value is None:
        fail(f"'{name}' cannot be called on null: a column is null or not there")
    found = METHODS.get((get_kind(value), name)) or METHODS.get(("any", name))
    if found is None:
        _fail_unknown_method(value, name)
    assert found is not None
    if not found.find_overloads(1 + len(arguments)):
        fail(f"'{name}' of a {type_name(value)} does not take {len(arguments)} arguments")
    return _build_caller(found, 1 + len(arguments))(value, *arguments)


@functools.lru_cache(maxsize=1024)
def _find_caller(kind: str, name: str, count: int) -> Callable[..., Any]:
    found = METHODS.get((kind, name)) or METHODS["any", name]
    return found.build_caller(count)


def _build_caller(found: Function, count: int) -> Callable[..., Any]:
    return _find_caller(found.namespace, found.name, count)


def _fail_unknown_method(value: Any, name: str) -> None:
    from rapidfuzz import process

    known = [method for kind, method in METHODS if kind in (get_kind(value), "any")]
    near: Final = process.extractOne(name, known, score_cutoff=60)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise EvaluationError(f"A {type_name(value)} has no method '{name}'{hint}")
