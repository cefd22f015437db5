"""Texts that match a pattern, or begin or end with another; what a list or a map holds."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from localcdap.java.regex import RegexError, compile_regex
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.jexl.errors import fail
from localcdap.plugin_lib.jexl.operators.comparisons import equals
from localcdap.plugin_lib.jexl.operators.conversions import to_text


def matches(left: Any, right: Any) -> bool:
    """``left =~ right``: the text matches the pattern as a whole, or the map or list holds the value."""
    if left is None or right is None:
        return left is right
    if right.__class__ is str:
        return _matches_pattern(to_java_string(left), right)
    if isinstance(right, Mapping):
        return set(left) <= set(right) if isinstance(left, Mapping) else left in right
    if isinstance(right, list | Set | range | tuple):
        if isinstance(left, list | Set | range):
            return all(item in right for item in left)
        return left in right
    return equals(left, right)


def _matches_pattern(text: str, pattern: str) -> bool:
    try:
        return compile_regex(pattern).matches(text)
    except RegexError as error:
        fail(str(error))
    except TimeoutError:
        fail(f"The pattern '{pattern}' took too long on a text of {len(text)} characters")


def matches_not(left: Any, right: Any) -> bool:
    return not matches(left, right)


def starts_with(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return left.startswith(to_text(right)) if left.__class__ is str else equals(left, right)


def starts_not_with(left: Any, right: Any) -> bool:
    return not starts_with(left, right)


def ends_with(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return left.endswith(to_text(right)) if left.__class__ is str else equals(left, right)


def ends_not_with(left: Any, right: Any) -> bool:
    return not ends_with(left, right)
