"""Methods of texts (``java.lang.String``)."""

from __future__ import annotations

from localcdap.java.regex import compile_regex
from localcdap.java.string_format import format_text
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.jexl.methods.declaring import MethodsOf
from localcdap.plugin_lib.jexl.operators.measures import text_length

text = MethodsOf("text")


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


def _limited(length: int, count: int) -> int:
    if count < 0 or length * count > 10_000_000:
        raise ValueError(f"a text cannot be repeated {count} times")
    return count


text("-> I", "length")(text_length)
text("-> B", "isEmpty")(lambda text: not text)
text("-> B", "isBlank")(lambda text: not text.strip())
text("-> S", "trim")(lambda text: text.strip(TRIM_CHARACTERS))
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
text("S I -> A", "split")(lambda text, pattern, limit: compile_regex(pattern).split(text, limit))
text("-> Y", "getBytes")(lambda text: text.encode("utf-8", "replace"))
text("S -> Y", "getBytes")(lambda text, charset: text.encode(charset, "replace"))
text("-> A", "toCharArray")(list)
text("O* -> S", "format", "formatted")(lambda text, *values: format_text(text, values))
