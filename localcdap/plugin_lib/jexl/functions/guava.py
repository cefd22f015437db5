"""``strings:``: Guava's ``Strings``."""

# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from typing import Any

from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace
from localcdap.plugin_lib.jexl.functions.string_parts import check_length, padding
from localcdap.plugin_lib.jexl.functions.string_search import common_length

guava = FunctionNamespace("strings")


@guava("S -> S!")
def nullToEmpty(text: str | None) -> str:
    return text or ""


@guava("S -> S")
def emptyToNull(text: str | None) -> str | None:
    return text or None


@guava("S -> B")
def isNullOrEmpty(text: str | None) -> bool:
    return not text


def pad_start(text: str | None, size: int, pad: str) -> str:
    return padding(pad, size - len(_require_not_null(text))) + _require_not_null(text)


def pad_end(text: str | None, size: int, pad: str) -> str:
    return _require_not_null(text) + padding(pad, size - len(_require_not_null(text)))


def repeat(text: str | None, count: int) -> str:
    if count < 0:
        raise ValueError(f"invalid count: {count}")
    check_length(len(_require_not_null(text)) * count)
    return _require_not_null(text) * count


def _require_not_null(text: str | None) -> str:
    if text is None:
        raise ValueError("a text is null")
    return text


guava("S I C -> S!", "padStart")(pad_start)
guava("S I C -> S!", "padEnd")(pad_end)
guava("S I -> S!", "repeat")(repeat)


@guava("S S -> S!")
def commonPrefix(first: str | None, second: str | None) -> str:
    return _require_not_null(first)[
        : common_length([_require_not_null(first), _require_not_null(second)])
    ]


@guava("S S -> S!")
def commonSuffix(first: str | None, second: str | None) -> str:
    return commonPrefix(_require_not_null(first)[::-1], _require_not_null(second)[::-1])[::-1]


@guava("S O* -> S!")
def lenientFormat(template: str | None, *values: Any) -> str:
    """Replace each ``%s`` by a value; further values follow in brackets."""
    parts = ("null" if template is None else template).split("%s")
    texts = [to_java_string(value) for value in values]
    count = min(len(parts) - 1, len(texts))
    result = parts[0] + "".join(text + part for text, part in zip(texts, parts[1:], strict=False))
    result += "".join("%s" + part for part in parts[count + 1 :])
    rest = texts[count:]
    return f"{result} [{', '.join(rest)}]" if rest else result
