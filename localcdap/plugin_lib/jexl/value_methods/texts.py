"""Methods of every value and of texts: those of Java's ``Object`` and ``String``."""

from __future__ import annotations

from typing import Any

from localcdap.java.hash_codes import hash_code
from localcdap.java.regex import compile_regex
from localcdap.java.string_format import format_text
from localcdap.java.strings import TRIM_CHARACTERS, to_java_string
from localcdap.plugin_lib.jexl.operators import compare, count_characters, count_elements, is_empty
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


def _match_region(
    text: str, at: int, other: str, start: int, length: int, ignore_case: bool = False
) -> bool:
    if at < 0 or start < 0 or at + length > len(text) or start + length > len(other):
        return False
    one, two = text[at : at + length], other[start : start + length]
    return one.lower() == two.lower() if ignore_case else one == two


text("I -> I", "codePointBefore")(lambda text, at: ord(_get_char(text, at - 1)))
text("I I -> I", "codePointCount")(lambda text, start, end: len(_get_substring(text, start, end)))
text("I S I I -> B", "regionMatches")(_match_region)
text("B I S I I -> B", "regionMatches")(
    lambda text, ignore, at, other, start, length: _match_region(
        text, at, other, start, length, ignore
    )
)
