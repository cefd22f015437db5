"""``json:``: CDAP's ``JsonFunctions``. Elements are dict, list, text, number, bool and None."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from typing import Any

from localcdap.java.gson import JsonError, escape_html, read_json
from localcdap.java.json_path import NothingFoundError, select
from localcdap.java.strings import format_json
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

values = FunctionNamespace("json")


def _read(text: str | None) -> Any:
    if text is None:
        raise ValueError("the text is null")
    return read_json(text)


@values("S -> J", "Parse")
def Parse(text: str | None) -> Any:
    """Return None if the text is not JSON."""
    try:
        return _read(text)
    except JsonError:
        return None


@values("S -> J", "parse")
def parse_strictly(text: str | None) -> Any:
    return _read(text)


@values("S B -> J", "parse", "Parse")
def parse_lowering(text: str | None, lower: bool) -> Any:
    return keysToLower(_read(text)) if lower else _read(text)


@values("S -> B")
def IsValid(text: str | None) -> bool:
    try:
        _read(text)
    except JsonError:
        return False
    return True


@values("J -> B")
def IsNull(element: Any) -> bool:
    return element is None


@values("J -> B")
def IsObject(element: Any) -> bool:
    return isinstance(element, dict)


@values("J -> B")
def IsArray(element: Any) -> bool:
    return isinstance(element, list)


@values("J -> I")
def ArrayLength(element: Any) -> int:
    if element is not None and not isinstance(element, list):
        raise ValueError("the value is not a JSON array")
    return len(element or ())


def _one_selected(element: Any, path: str) -> Any:
    """Return the value at a path; null if there is none. Unlike the directive ``json-path``, it accepts
    null.
    """
    try:
        return select(element, path)
    except NothingFoundError:
        return None


def _select_paths(element: Any, paths: tuple[str, ...]) -> Any:
    found = [_one_selected(element, path) for path in paths]
    return found[0] if len(found) == 1 else found


@values("J S S* -> J", "Select")
def Select(element: Any, path: str, *paths: str) -> Any:
    """Return the value at a path, or the list of the values at several paths."""
    return _select_paths(element, (path, *paths))


@values("J B S S* -> J", "select")
def select_lowering(element: Any, lower: bool, path: str, *paths: str) -> Any:
    parsed = _read(element) if isinstance(element, str) else element
    return _select_paths(keysToLower(parsed) if lower else parsed, (path, *paths))


@values("J S S* -> J", "select")
def select_lower(element: Any, path: str, *paths: str) -> Any:
    return select_lowering(element, True, path, *paths)


@values("J S S* -> J", "drop", "Drop")
def drop(element: Any, field: str, *fields: str) -> Any:
    """Remove the fields of these names at any depth of nested objects."""
    parsed = _read(element) if isinstance(element, str) else element
    return _without(parsed, {field, *fields})


def _without(element: Any, fields: set[str]) -> Any:
    if isinstance(element, dict):
        return {key: _without(value, fields) for key, value in element.items() if key not in fields}
    if isinstance(element, list):
        return [_without(one, fields) if isinstance(one, dict) else one for one in element]
    return element


@values("J -> J", "keysToLower", "KeysToLower")
def keysToLower(element: Any) -> Any:
    if isinstance(element, dict):
        return {key.lower(): keysToLower(value) for key, value in element.items()}
    return [keysToLower(one) for one in element] if isinstance(element, list) else element


@values("J S -> S!", "join", "Join")
def join(element: Any, separator: str | None) -> str:
    """Join the elements as JSON, each followed by the separator; arrays and objects give only the
    separator.
    """
    if not isinstance(element, list):
        return ""
    plain = [
        "" if one is None or isinstance(one, dict | list) else format_json(one) for one in element
    ]
    return "".join(text + (separator or "null") for text in plain)


@values("J -> S!", "stringify")
def stringify(element: Any) -> str:
    return format_json(element)


@values("J -> S!")
def Stringify(element: Any) -> str:
    return escape_html(format_json(element))
