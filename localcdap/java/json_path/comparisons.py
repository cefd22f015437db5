"""The comparison operators in the filters of JSON paths."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from localcdap.java.numbers import is_number
from localcdap.java.regex import compile_regex

_Compare = Callable[[Any, Any], bool]


class Missing(Enum):
    """The type of the value that an operand has where its path finds nothing."""

    MISSING = "missing"


class Pattern:
    """A regular expression such as ``/a.*/i``, the operand of ``=~``."""

    def __init__(self, text: str, flags: str) -> None:
        self.regex = compile_regex(f"(?{flags}){text}" if flags else text)

    def matches(self, value: Any) -> bool:
        """Return whether the pattern matches a whole value, or any element of a list."""
        if isinstance(value, list):
            return any(self.matches(each) for each in value)
        number = _to_number(value)
        if isinstance(value, bool):
            text = str(value).lower()
        else:
            text = value if isinstance(value, str) else "" if number is None else str(number)
        return self.regex.matches(text)


def _to_number(value: Any) -> Decimal | None:
    if not is_number(value):
        return None
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return number if number.is_finite() else None


def _to_comparable_pair(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Return two numbers or two texts to compare; None for others. A number beside a text becomes a text."""
    numbers = _to_number(left), _to_number(right)
    if None not in numbers:
        return numbers
    texts = [str(n) if n is not None else v for v, n in zip((left, right), numbers, strict=True)]
    return (texts[0], texts[1]) if all(isinstance(text, str) for text in texts) else None


def _is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, str) != isinstance(right, str) and (
        pair := _to_comparable_pair(left, right)
    ):
        return _is_equal_as_numbers(*pair)
    numbers = _to_number(left), _to_number(right)
    if None not in numbers:
        return numbers[0] == numbers[1]
    if Missing.MISSING in (left, right) or isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


def _is_equal_as_numbers(left: str, right: str) -> bool:
    try:
        return Decimal(left) == Decimal(right)
    except ArithmeticError:
        return False


def _is_strictly_equal(left: Any, right: Any) -> bool:
    return isinstance(left, str) == isinstance(right, str) and _is_equal(left, right)


def _build_order(is_ordered: Callable[[Any, Any], bool]) -> _Compare:
    def compare(left: Any, right: Any) -> bool:
        pair = _to_comparable_pair(left, right)
        return pair is not None and is_ordered(*pair)

    return compare


def _matches_pattern(left: Any, right: Any) -> bool:
    if isinstance(left, Pattern) == isinstance(right, Pattern):
        return False
    pattern, value = (left, right) if isinstance(left, Pattern) else (right, left)
    return bool(pattern.matches(value))


def _is_in(left: Any, right: Any) -> bool:
    return isinstance(right, list) and any(_is_equal(left, each) for each in right)


def _are_all_in(values: Any, among: Any) -> bool:
    return isinstance(values, list) and all(_is_in(each, among) for each in values)


def _is_any_in(values: Any, among: Any) -> bool:
    return isinstance(values, list) and any(_is_in(each, among) for each in values)


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return _is_in(right, left)


def _has_size(left: Any, right: Any) -> bool:
    return isinstance(left, str | list) and _to_number(right) == len(left)


def _is_empty(left: Any, right: Any) -> bool:
    return isinstance(left, str | list | dict) and (not left) is right


COMPARISONS: Final[dict[str, _Compare]] = {
    "==": _is_equal,
    "!=": lambda left, right: not _is_equal(left, right),
    "===": _is_strictly_equal,
    "!==": lambda left, right: not _is_strictly_equal(left, right),
    "<": _build_order(lambda left, right: bool(left < right)),
    "<=": _build_order(lambda left, right: bool(left <= right)),
    ">": _build_order(lambda left, right: bool(left > right)),
    ">=": _build_order(lambda left, right: bool(left >= right)),
    "=~": _matches_pattern,
    "in": _is_in,
    "nin": lambda left, right: not _is_in(left, right),
    "all": lambda left, right: isinstance(left, list) and _are_all_in(right, left),
    "contains": _contains,
    "size": _has_size,
    "empty": _is_empty,
    "subsetof": _are_all_in,
    "anyof": _is_any_in,
    "noneof": lambda left, right: isinstance(left, list) and not _is_any_in(left, right),
}
