"""Functions without a namespace (``Global``), ``strings:`` (Guava's ``Strings``) and ``geo:`` (geofences)."""

from __future__ import annotations

import itertools
import json
from typing import Any

from localcdap.java.numbers import parse_double, parse_float, parse_int, parse_long
from localcdap.java.string_format import format_text
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace
from localcdap.plugin_lib.jexl.functions.string_parts import check_length, padding
from localcdap.plugin_lib.jexl.functions.string_search import common_length

# ruff: noqa: N802 - functions have the names that expressions call them by


guava = FunctionNamespace("strings", counts_units=True)


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
    return padding(pad, size - len(_require_guava_text(text))) + _require_guava_text(text)


def pad_end(text: str | None, size: int, pad: str) -> str:
    return _require_guava_text(text) + padding(pad, size - len(_require_guava_text(text)))


def repeat(text: str | None, count: int) -> str:
    if count < 0:
        raise ValueError(f"invalid count: {count}")
    check_length(len(_require_guava_text(text)) * count)
    return _require_guava_text(text) * count


def _require_guava_text(text: str | None) -> str:
    if text is None:
        raise ValueError("a text is null")
    return text


guava("S I C -> S!", "padStart")(pad_start)
guava("S I C -> S!", "padEnd")(pad_end)
guava("S I -> S!", "repeat")(repeat)


@guava("S S -> S!")
def commonPrefix(first: str | None, second: str | None) -> str:
    return _require_guava_text(first)[
        : common_length([_require_guava_text(first), _require_guava_text(second)])
    ]


@guava("S S -> S!")
def commonSuffix(first: str | None, second: str | None) -> str:
    return commonPrefix(_require_guava_text(first)[::-1], _require_guava_text(second)[::-1])[::-1]


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


# ruff: noqa: N802 - functions have the names that expressions call them by


everywhere = FunctionNamespace("")
_counting = FunctionNamespace("", counts_units=True)


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


@_counting("S O* -> S!")
def format(pattern: str | None, *values: Any) -> str:
    return format_text(_require_not_null(pattern), values)


_counting("S I C -> S!", "padAtStart")(pad_start)
_counting("S I C -> S!", "padAtEnd")(pad_end)
_counting("S I -> S!", "repeat")(repeat)


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


# ruff: noqa: N802 - functions have the names that expressions call them by


geo = FunctionNamespace("geo")


@geo("N N S -> B", "InFence", "inFence")
def InFence(latitude: Any, longitude: Any, geofences: str | None) -> bool:
    """Return whether any polygon of a feature collection contains the point, by its winding number.

    False if an argument is null, as in the original's ``GeoFences``.
    """
    if latitude is None or longitude is None or geofences is None:
        return False
    latitude, longitude = float(latitude), float(longitude)
    return any(_is_inside(ring, longitude, latitude) for ring in _rings(geofences))


def _rings(document: str | None) -> list[list[tuple[float, float]]]:
    """Return the outer rings; each must be closed, as GeoJSON requires."""
    try:
        features = json.loads(document or "null")["features"]
        return [_ring(feature["geometry"]) for feature in features]
    except (LookupError, TypeError, json.JSONDecodeError):
        raise ValueError("the fence is not a GeoJSON feature collection of polygons") from None


def _ring(geometry: Any) -> list[tuple[float, float]]:
    if geometry["type"] != "Polygon":
        raise ValueError(f"a fence is a {geometry['type']}, not a Polygon")
    ring = [(float(point[0]), float(point[1])) for point in geometry["coordinates"][0]]
    if len(ring) < 4 or ring[0] != ring[-1]:
        raise ValueError("a fence's polygon is not closed: its last point must be its first")
    return ring


def _is_inside(ring: list[tuple[float, float]], x: float, y: float) -> bool:
    winding = 0
    for (x0, y0), (x1, y1) in itertools.pairwise(ring):
        side = (x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)
        if y0 <= y < y1 and side > 0:
            winding += 1
        elif y1 <= y < y0 and side < 0:
            winding -= 1
    return winding != 0
