"""What the operators in filters of JSON paths say of two values."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from localcdap.java.regex import compile_regex

_Compare = Callable[[Any, Any], bool]


class Missing(Enum):
    MISSING = "what a path finds where nothing is"


class Pattern:
    """``/a.*/i``, with which ``=~`` compares."""

    def __init__(self, text: str, flags: str) -> None:
        self.regex = compile_regex(f"(?{flags}){text}" if flags else text)

    def matches(self, value: Any) -> bool:
        if isinstance(value, list):
            return any(self.matches(one) for one in value)
        number = _number(value)
        if isinstance(value, bool):
            text = str(value).lower()
        else:
            text = value if isinstance(value, str) else "" if number is None else str(number)
        return self.regex.matches(text)


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return number if number.is_finite() else None


def _pair(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Two numbers or two texts: numbers beside texts are compared as texts."""
    numbers = _number(left), _number(right)
    if None not in numbers:
        return numbers
    texts = [str(n) if n is not None else v for v, n in zip((left, right), numbers, strict=True)]
    return (texts[0], texts[1]) if all(isinstance(text, str) for text in texts) else None


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, str) != isinstance(right, str) and (pair := _pair(left, right)):
        return _equal_numbers(*pair)
    numbers = _number(left), _number(right)
    if None not in numbers:
        return numbers[0] == numbers[1]
    if Missing.MISSING in (left, right) or isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


def _equal_numbers(left: str, right: str) -> bool:
    try:
        return Decimal(left) == Decimal(right)
    except ArithmeticError:
        return False


def _same_kind(left: Any, right: Any) -> bool:
    return isinstance(left, str) == isinstance(right, str) and _same(left, right)


def _ordered(is_so: Callable[[Any, Any], bool]) -> _Compare:
    def compare(left: Any, right: Any) -> bool:
        pair = _pair(left, right)
        return pair is not None and is_so(*pair)

    return compare


def _matches(left: Any, right: Any) -> bool:
    if isinstance(left, Pattern) == isinstance(right, Pattern):
        return False
    pattern, value = (left, right) if isinstance(left, Pattern) else (right, left)
    return bool(pattern.matches(value))


def _in(left: Any, right: Any) -> bool:
    return isinstance(right, list) and any(_same(left, one) for one in right)


def _all_in(values: Any, among: Any) -> bool:
    return isinstance(values, list) and all(_in(one, among) for one in values)


def _any_in(values: Any, among: Any) -> bool:
    return isinstance(values, list) and any(_in(one, among) for one in values)


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return _in(right, left)


def _has_size(left: Any, right: Any) -> bool:
    return isinstance(left, str | list) and _number(right) == len(left)


def _is_empty(left: Any, right: Any) -> bool:
    return isinstance(left, str | list | dict) and (not left) is right


COMPARISONS: Final[dict[str, _Compare]] = {
    "==": _same,
    "!=": lambda left, right: not _same(left, right),
    "===": _same_kind,
    "!==": lambda left, right: not _same_kind(left, right),
    "<": _ordered(lambda left, right: bool(left < right)),
    "<=": _ordered(lambda left, right: bool(left <= right)),
    ">": _ordered(lambda left, right: bool(left > right)),
    ">=": _ordered(lambda left, right: bool(left >= right)),
    "=~": _matches,
    "in": _in,
    "nin": lambda left, right: not _in(left, right),
    "all": lambda left, right: isinstance(left, list) and _all_in(right, left),
    "contains": _contains,
    "size": _has_size,
    "empty": _is_empty,
    "subsetof": _all_in,
    "anyof": _any_in,
    "noneof": lambda left, right: isinstance(left, list) and not _any_in(left, right),
}
