"""Methods of every value, of texts, numbers, booleans, lists, maps and rows: those of Java's classes.

As in Java, a method that changes a list or a map changes the value that the record has.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from localcdap.java import numbers
from localcdap.java.big_decimal import (
    EXACT,
    divide_whole,
    drop_zero_sign,
    get_remainder,
    multiply_exactly,
    power,
    scale_of,
    strip_zeros,
)
from localcdap.java.hash_codes import hash_code
from localcdap.java.regex import compile_regex
from localcdap.java.string_format import format_text
from localcdap.java.strings import TRIM_CHARACTERS, round_to_float, to_java_string
from localcdap.java.text_units import compare_folded, compare_units, count_units, from_units
from localcdap.plugin_lib.jexl.operators import compare, count_elements, is_empty
from localcdap.plugin_lib.jexl.value_methods.registry import MethodsOf

every = MethodsOf("any")


def _return_value(value: Any, other: Any) -> bool:
    """Compare like Java's ``equals``: values of different classes differ, so ``1`` is not ``1.0``."""
    return type(value) is type(other) and bool(value == other)


def compare_to(value: Any, other: Any) -> int:
    """Compare like Java's ``compareTo``, which dates and numbers have."""
    if other is None:
        raise ValueError("the other value is null")
    return compare(value, other)


every("-> S", "toString")(to_java_string)
every("O -> B", "equals")(_return_value)
every("-> I", "hashCode")(hash_code)
every("-> I", "size")(count_elements)
every("-> B", "empty")(is_empty)


text = MethodsOf("text")
_counting = MethodsOf("text", counts_units=True)


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


def _get_code_point(text: str, at: int) -> int:
    """Return the code point at a position of units: of the whole character if it begins there."""
    return ord(from_units(_get_char(text, at) + text[at + 1 : at + 2])[0])


def _get_code_point_before(text: str, at: int) -> int:
    _get_char(text, at - 1)
    return ord(from_units(text[max(at - 2, 0) : at])[-1])


def _replace_limited(text: str, pattern: str, replacement: str) -> str:
    return compile_regex(pattern).replace(text, replacement, 1)


def _limit_parts(length: int, count: int) -> int:
    if count < 0 or length * count > 10_000_000:
        raise ValueError(f"a text cannot be repeated {count} times")
    return count


text("-> I", "length")(count_units)
text("-> B", "isEmpty")(lambda text: not text)
text("-> B", "isBlank")(lambda text: not text.strip())
text("-> S", "trim")(lambda text: text.strip(TRIM_CHARACTERS))
text("-> S", "strip")(str.strip)
text("-> S", "stripLeading")(str.lstrip)
text("-> S", "stripTrailing")(str.rstrip)
text("-> S", "toUpperCase")(str.upper)
text("-> S", "toLowerCase")(str.lower)
text("-> S", "intern", "toString")(lambda text: text)
_counting("I -> S", "substring")(_get_substring)
_counting("I I -> S", "substring", "subSequence")(_get_substring)
_counting("I -> S", "charAt")(_get_char)
_counting("I -> I", "codePointAt")(_get_code_point)
text("S -> S", "concat")(lambda text, other: text + other)
text("I -> S", "repeat")(lambda text, count: text * _limit_parts(len(text), count))
text("S -> B", "contains")(lambda text, other: other in text)
text("S -> B", "startsWith")(str.startswith)
_counting("S I -> B", "startsWith")(lambda text, other, at: at >= 0 and text.startswith(other, at))
text("S -> B", "endsWith")(str.endswith)
text("S -> B", "equalsIgnoreCase")(
    lambda text, other: (
        other is not None and len(text) == len(other) and compare_folded(text, other) == 0
    )
)
text("S -> B", "contentEquals")(lambda text, other: text == other)
text("S -> I", "compareTo")(compare_units)
text("S -> I", "compareToIgnoreCase")(compare_folded)
_counting("S -> I", "indexOf")(str.find)
_counting("S I -> I", "indexOf")(lambda text, other, at: text.find(other, max(at, 0)))
_counting("S -> I", "lastIndexOf")(str.rfind)
_counting("S I -> I", "lastIndexOf")(
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
_counting("-> A", "toCharArray")(list)
_counting("O* -> S", "format", "formatted")(lambda text, *values: format_text(text, values))


def _match_region(
    text: str, at: int, other: str, start: int, length: int, ignore_case: bool = False
) -> bool:
    if at < 0 or start < 0 or at + length > len(text) or start + length > len(other):
        return False
    one, two = text[at : at + length], other[start : start + length]
    return one.lower() == two.lower() if ignore_case else one == two


_counting("I -> I", "codePointBefore")(_get_code_point_before)
_counting("I I -> I", "codePointCount")(
    lambda text, start, end: len(from_units(_get_substring(text, start, end)))
)
_counting("I S I I -> B", "regionMatches")(_match_region)
_counting("B I S I I -> B", "regionMatches")(
    lambda text, ignore, at, other, start, length: _match_region(
        text, at, other, start, length, ignore
    )
)


number = MethodsOf("number")
boolean = MethodsOf("boolean")

_ROUNDINGS: Final = (
    decimal.ROUND_UP,
    decimal.ROUND_DOWN,
    decimal.ROUND_CEILING,
    decimal.ROUND_FLOOR,
    decimal.ROUND_HALF_UP,
    decimal.ROUND_HALF_DOWN,
    decimal.ROUND_HALF_EVEN,
)
"""Rounding modes by the numbers of ``BigDecimal.ROUND_UP`` and so on; 7, ROUND_UNNECESSARY, fails instead."""

_MOST_DIGITS: Final = 1000


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


def _other(value: Decimal | None) -> Decimal:
    if value is None:
        raise ValueError("the other decimal is null")
    return value


def _compare_booleans(value: bool, other: bool) -> int:
    return int(value) - int(other)


number("-> I", "intValue")(lambda value: _check_whole(value, 32))
number("-> L", "longValue")(lambda value: _check_whole(value, 64))
number("-> I", "shortValue")(lambda value: numbers.wrap(_check_whole(value, 32), 16))
number("-> I", "byteValue")(lambda value: numbers.wrap(_check_whole(value, 32), 8))
number("-> D", "doubleValue")(float)
number("-> F", "floatValue")(lambda value: round_to_float(float(value)))
number("N -> I", "compareTo")(compare_to)
number("-> B", "isNaN")(lambda value: value != value)
number("-> B", "isInfinite")(lambda value: isinstance(value, float) and math.isinf(value))
number("-> I", "signum")(lambda value: (value > 0) - (value < 0))
boolean("-> B", "booleanValue")(lambda value: value)
boolean("B -> I", "compareTo")(_compare_booleans)


# -- BigDecimal ----------------------------------------------------------------------------------


def set_scale(value: Any, scale: int, mode: int = 7) -> Decimal:
    """Round to a number of digits after the point.

    :param mode: 0 to 6 of ``BigDecimal.ROUND_…``; 7 fails where digits would get lost.
    """
    given = _decimal(value)
    if abs(scale) > _MOST_DIGITS:
        raise ValueError(f"a scale of {scale} is more than {_MOST_DIGITS} digits")
    rounded = given.quantize(Decimal(1).scaleb(-scale), _find_rounding(mode), EXACT)
    if mode == 7 and rounded != given:
        raise ValueError("Rounding necessary")
    return drop_zero_sign(rounded)


def _find_rounding(mode: int) -> str:
    if not 0 <= mode <= 7:
        raise ValueError(f"{mode} is not a rounding mode; they are 0 to 7")
    return decimal.ROUND_DOWN if mode == 7 else _ROUNDINGS[mode]


def divide(value: Any, divisor: Decimal | None) -> Decimal:
    """Divide exactly; the scale is the dividend's less the divisor's, or as many digits as there are."""
    dividend, by = _decimal(value), _other(divisor)
    if not by:
        raise ValueError("Division undefined" if not dividend else "Division by zero")
    preferred = scale_of(dividend) - scale_of(by)
    if not dividend:
        return Decimal((0, (0,), -preferred))
    context = EXACT.copy()
    context.clear_flags()
    quotient = context.divide(dividend, by)
    if context.flags[decimal.Inexact]:
        raise ValueError(
            "Non-terminating decimal expansion; no exact representable decimal result."
        )
    quotient = strip_zeros(quotient)
    return set_scale(quotient, max(preferred, scale_of(quotient)))


def divide_to_scale(value: Any, divisor: Decimal | None, scale: int, mode: int) -> Decimal:
    dividend, by = _decimal(value), _other(divisor)
    if not by:
        raise ValueError("Division by zero")
    context = EXACT.copy()
    context.clear_flags()
    context.rounding = decimal.ROUND_DOWN
    quotient = context.divide(dividend, by)
    if context.flags[decimal.Inexact]:
        # A digit that is not 0 far behind keeps the direction of the rounding.
        quotient = context.add(quotient, Decimal((quotient.is_signed(), (1,), -_MOST_DIGITS - 500)))
    return set_scale(quotient, scale, mode)


def _divide_with_mode(value: Any, divisor: Decimal | None, mode: int) -> Decimal:
    return divide_to_scale(value, divisor, scale_of(_decimal(value)), mode)


def divide_to_whole(value: Any, divisor: Decimal | None) -> Decimal:
    return divide_whole(_decimal(value), _other(divisor))


def remainder(value: Any, divisor: Decimal | None) -> Decimal:
    return get_remainder(_decimal(value), _other(divisor))


def _move_point(value: Any, places: int) -> Decimal:
    """Move the point to the right; the scale is never negative."""
    given = _decimal(value)
    if places == 0:
        return given
    moved = given.scaleb(places, EXACT)
    return moved if scale_of(moved) >= 0 else set_scale(moved, 0)


def _to_whole(value: Any) -> int:
    given = _decimal(value)
    if given != given.to_integral_value():
        raise ValueError("Rounding necessary")
    return int(given)


def _to_exact(bits: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        whole = _to_whole(value)
        if numbers.wrap(whole, bits) != whole:
            raise ValueError("Overflow")
        return whole

    return convert


def _find_ulp(value: Any) -> Decimal:
    return Decimal((0, (1,), -scale_of(_decimal(value))))


def _unscale(value: Any) -> int:
    return int(_decimal(value).scaleb(scale_of(_decimal(value)), EXACT))


number("-> I", "scale")(lambda value: scale_of(_decimal(value)))
number("-> I", "precision")(lambda value: len(_decimal(value).as_tuple().digits))
number("-> M", "abs")(lambda value: _decimal(value).copy_abs())
number("-> M", "negate")(lambda value: EXACT.minus(_decimal(value)))
number("-> M", "plus")(_decimal)
number("-> S", "toPlainString")(lambda value: format(_decimal(value), "f"))
number("-> S", "toEngineeringString")(lambda value: _decimal(value).to_eng_string())
number("-> M", "stripTrailingZeros")(lambda value: strip_zeros(_decimal(value)))
number("M -> M", "add")(lambda value, other: EXACT.add(_decimal(value), _other(other)))
number("M -> M", "subtract")(lambda value, other: EXACT.subtract(_decimal(value), _other(other)))
number("M -> M", "multiply")(lambda value, other: multiply_exactly(_decimal(value), _other(other)))
number("M -> M", "divide")(divide)
number("M I -> M", "divide")(_divide_with_mode)
number("M I I -> M", "divide")(divide_to_scale)
number("M -> M", "divideToIntegralValue")(divide_to_whole)
number("M -> M", "remainder")(remainder)
number("M -> A", "divideAndRemainder")(
    lambda value, divisor: [divide_to_whole(value, divisor), remainder(value, divisor)]
)
number("M -> M", "max")(lambda value, other: _decimal(value) if value >= _other(other) else other)
number("M -> M", "min")(lambda value, other: _decimal(value) if value <= _other(other) else other)
number("I -> M", "pow")(lambda value, exponent: power(_decimal(value), exponent))
number("I -> M", "setScale")(set_scale)
number("I I -> M", "setScale")(set_scale)
number("I -> M", "movePointLeft")(lambda value, places: _move_point(value, -places))
number("I -> M", "movePointRight")(_move_point)
number("I -> M", "scaleByPowerOfTen")(lambda value, power: _decimal(value).scaleb(power, EXACT))
number("-> M", "ulp")(_find_ulp)
number("-> O", "unscaledValue")(_unscale)
number("-> O", "toBigInteger")(lambda value: int(_decimal(value)))
number("-> O", "toBigIntegerExact")(_to_whole)
number("-> I", "byteValueExact")(_to_exact(8))
number("-> I", "shortValueExact")(_to_exact(16))
number("-> I", "intValueExact")(_to_exact(32))
number("-> L", "longValueExact")(_to_exact(64))


listed = MethodsOf("list")
mapped = MethodsOf("map")

_MOST_ELEMENTS: Final = 10_000_000
"""A list that grows without an end must not take all memory."""


def _get(values: Any, at: int) -> Any:
    if not 0 <= at < len(values):
        raise ValueError(f"the list has {len(values)} elements, none at {at}")
    return values[at]


def _index(values: Any, wanted: Any) -> int:
    return next((at for at, value in enumerate(values) if value == wanted), -1)


def _last_index(values: Any, wanted: Any) -> int:
    return next((at for at in range(len(values) - 1, -1, -1) if values[at] == wanted), -1)


def _require_list(values: Any) -> list[Any]:
    if isinstance(values, list):
        if len(values) > _MOST_ELEMENTS:
            raise ValueError(f"the list has more than {_MOST_ELEMENTS} elements")
        return values
    raise ValueError("the values cannot be changed")


def _add(values: Any, value: Any) -> bool:
    if isinstance(values, set):
        is_new = value not in values
        values.add(value)
        return is_new
    _require_list(values).append(value)
    return True


def _insert(values: Any, at: int, value: Any) -> None:
    if not 0 <= at <= len(values):
        raise ValueError(f"the list has {len(values)} elements, so none can be added at {at}")
    _require_list(values).insert(at, value)


def _add_all(values: Any, others: Any) -> bool:
    found = list(others)
    _require_list(values).extend(found)
    return bool(found)


def _insert_all(values: Any, at: int, others: Any) -> bool:
    found = list(others)
    if not 0 <= at <= len(values):
        raise ValueError(f"the list has {len(values)} elements, so none can be added at {at}")
    _require_list(values)[at:at] = found
    return bool(found)


def _set(values: Any, at: int, value: Any) -> Any:
    before = _get(values, at)
    _require_list(values)[at] = value
    return before


def _remove_at(values: Any, at: int) -> Any:
    _get(values, at)
    return _require_list(values).pop(at)


def _remove_value(values: Any, wanted: Any) -> bool:
    if isinstance(values, set):
        found = wanted in values
        values.discard(wanted)
        return found
    at = _index(values, wanted)
    if at >= 0:
        del _require_list(values)[at]
    return at >= 0


def _keep(values: Any, wanted: Any, *, present: bool) -> bool:
    kept = [value for value in values if (value in wanted) is present]
    is_changed = len(kept) != len(values)
    _require_list(values)[:] = kept
    return is_changed


def _sort(values: Any, comparator: Any) -> None:
    if comparator is not None:
        raise ValueError("a Comparator cannot be given; null sorts in the natural order")
    _require_list(values).sort()


def _cut(values: Any, start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise ValueError(f"a list of {len(values)} elements has none from {start} to {end}")
    return list(values)[start:end]


listed("-> I", "size", "length")(len)
listed("-> B", "isEmpty")(lambda values: not values)
listed("I -> O", "get", "getAsString")(_get)
listed("O -> B", "contains")(lambda values, wanted: wanted in values)
listed("A -> B", "containsAll")(lambda values, wanted: all(one in values for one in wanted))
listed("O -> I", "indexOf")(_index)
listed("O -> I", "lastIndexOf")(lambda values, wanted: _last_index(list(values), wanted))
listed("I I -> A", "subList")(_cut)
listed("O -> B", "add")(_add)
listed("I O -> O", "add")(_insert)
listed("A -> B", "addAll")(_add_all)
listed("I A -> B", "addAll")(_insert_all)
listed("I O -> O", "set")(_set)
listed("I -> O", "remove")(_remove_at)
listed("O -> B", "remove")(_remove_value)
listed("A -> B", "removeAll")(lambda values, wanted: _keep(values, wanted, present=False))
listed("A -> B", "retainAll")(lambda values, wanted: _keep(values, wanted, present=True))
listed("-> O", "clear")(lambda values: values.clear())
listed("-> A", "toArray", "clone")(list)
listed("O -> O", "sort")(_sort)


def _get_entry(values: Any, key: Any) -> Any:
    if isinstance(key, int) and key not in values:
        return _get(list(values.values()), key)
    look_up = getattr(values, "value", None)
    return look_up(key) if look_up is not None and isinstance(key, str) else values.get(key)


def _put(values: Any, key: Any, value: Any) -> Any:
    before = values.get(key)
    values[key] = value
    return before


def _put_if_absent(values: Any, key: Any, value: Any) -> Any:
    before = values.get(key)
    if before is None:
        values[key] = value
    return before


def _put_all(values: Any, others: Any) -> None:
    if not isinstance(others, dict):
        raise ValueError("the other value is not a map")
    values.update(others)


def _remove_key(values: Any, key: Any) -> Any:
    """Remove an entry. Rows find their columns without regard to case."""
    find = getattr(values, "find", None)
    if find is not None and isinstance(key, str):
        key = find(key)
    return values.pop(key, None)


def _remove_entry(values: Any, key: Any, value: Any) -> bool:
    is_there = key in values and values[key] == value
    if is_there:
        del values[key]
    return is_there


def _replace_entry(values: Any, key: Any, value: Any) -> Any:
    return _put(values, key, value) if key in values else None


def _replace_value(values: Any, key: Any, old: Any, value: Any) -> bool:
    is_there = key in values and values[key] == old
    if is_there:
        values[key] = value
    return is_there


mapped("-> I", "size", "width", "length")(len)
mapped("-> B", "isEmpty")(lambda values: not values)
mapped("O -> O", "get", "getValue")(_get_entry)
mapped("O O -> O", "getOrDefault")(lambda values, key, default: values.get(key, default))
mapped("O -> B", "containsKey", "has")(lambda values, key: key in values)
mapped("O -> B", "containsValue")(lambda values, value: value in list(values.values()))
mapped("-> A", "keySet", "keys")(list)
mapped("-> A", "values")(lambda values: list(values.values()))
mapped("-> A", "entrySet")(
    lambda values: [{"key": key, "value": value} for key, value in values.items()]
)
mapped("S -> I", "find")(lambda row, name: _index([key.lower() for key in row], name.lower()))
mapped("I -> S", "getColumn")(lambda row, at: _get(list(row), at))
mapped("O O -> O", "put")(_put)
mapped("O O -> O", "putIfAbsent")(_put_if_absent)
mapped("O -> O", "putAll")(_put_all)
mapped("O -> O", "remove")(_remove_key)
mapped("O O -> B", "remove")(_remove_entry)
mapped("O O -> O", "replace")(_replace_entry)
mapped("O O O -> B", "replace")(_replace_value)
mapped("-> O", "clear")(lambda values: values.clear())
mapped("-> O", "clone")(dict)
