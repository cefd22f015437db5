"""The functions without a namespace (the original's ``Global``)."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from typing import Any

from localcdap.java.numbers import parse_double, parse_float, parse_int, parse_long
from localcdap.java.string_format import format_text
from localcdap.plugin_lib.jexl.functions.guava import pad_end, pad_start, repeat
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

everywhere = FunctionNamespace("")


def _require_not_null(value: str | None) -> str:
    if value is None:
        raise ValueError("the value is null")
    return value


@everywhere("S -> D")
def toDouble(value: str | None) -> float:
    return parse_double(_require_not_null(value))


@everywhere("S -> F")
def toFloat(value: str | None) -> float:
    return parse_float(_require_not_null(value))


@everywhere("S -> L")
def toLong(value: str | None) -> int:
    return parse_long(_require_not_null(value))


@everywhere("S -> I")
def toInteger(value: str | None) -> int:
    return parse_int(_require_not_null(value))


@everywhere("S -> Y!")
def toBytes(value: str | None) -> bytes:
    return _require_not_null(value).encode("utf-8", "replace")


@everywhere("S S -> S")
def concat(first: str | None, second: str | None) -> str | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


@everywhere("S S S -> S!", "concat")
def concat_delimited(first: str | None, delimiter: str | None, second: str | None) -> str:
    if first is None and second is None:
        raise ValueError("both texts are null")
    return (first or "") + _require_not_null(delimiter) + (second or "")


@everywhere("O* -> O")
def coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


@everywhere("O* -> O")
def rcoalesce(*values: Any) -> Any:
    return coalesce(*reversed(values))


@everywhere("S O* -> S!")
def format(pattern: str | None, *values: Any) -> str:
    return format_text(_require_not_null(pattern), values)


everywhere("S I C -> S!", "padAtStart")(pad_start)
everywhere("S I C -> S!", "padAtEnd")(pad_end)
everywhere("S I -> S!", "repeat")(repeat)


@everywhere("S -> S")
def unquote(text: str | None) -> str | None:
    if text is not None and any(text.startswith(q) and text.endswith(q) for q in "\"'"):
        if len(text) < 2:
            raise ValueError("the text is one quote")
        return text[1:-1]
    return text


@everywhere("O -> B")
def IsNotNull(value: Any) -> bool:
    return value is not None


@everywhere("O -> B")
def IsNull(value: Any) -> bool:
    return value is None


@everywhere("O -> O")
def NullToEmpty(value: Any) -> Any:
    return "" if value is None else value


@everywhere("O -> O")
def NullToZero(value: Any) -> Any:
    return 0 if value is None else value


@everywhere("O O -> O")
def NullToValue(value: Any, replacement: Any) -> Any:
    return replacement if value is None else value
