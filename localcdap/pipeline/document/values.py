"""Lenient reading of JSON values, as CDAP's JSON reader (Gson) does it: numbers and booleans as text, and
text as numbers and booleans.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from localcdap.api.failures import ArtifactId
from localcdap.api.pipeline import Resources
from localcdap.artifacts.model import ArtifactSelector


def as_text(value: Any) -> str | None:
    """Return the text of a scalar, None for null, and the JSON text of an object.

    A list of scalars is joined by commas, the form of a list in a property; any other list becomes JSON.
    """
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return json.dumps(value)
        case list() if value and all(_is_plain(element) for element in value):
            return ",".join(as_text(element) or "" for element in value)
        case _:
            return encode_json(value)


def _is_plain(element: Any) -> bool:
    return element is not None and not isinstance(element, (list, dict))


def encode_json(value: Any) -> str:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def as_properties(value: Any) -> dict[str, str]:
    """Return the properties of a plugin without nulls; an empty dict when the value is not an object."""
    if not isinstance(value, Mapping):
        return {}
    found: dict[str, str] = {}
    for key, each in value.items():
        # A schema may be a union: a list of type names, but no list property.
        is_schema = isinstance(each, list) and key.lower().endswith("schema")
        text = encode_json(each) if is_schema else as_text(each)
        if text is not None:
            found[key] = text
    return found


def as_bool(value: Any, default: bool) -> bool:
    match value:
        case bool():
            return value
        case str() if value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        case _:
            return default


def as_int(value: Any, default: int | None) -> int | None:
    """Return a 32-bit integer, also from text or a float without a fraction; else the default."""
    match value:
        case bool():
            return default
        case int():
            number = value
        case float() if value.is_integer():
            number = int(value)
        case str() if re.fullmatch(r"\s*[+-]?[0-9]{1,10}\s*", value):
            number = int(value)
        case _:
            return default
    return number if abs(number) < 2**31 else default


def as_resources(value: Any) -> Resources:
    if not isinstance(value, Mapping):
        return Resources()
    fallback = Resources()
    return Resources(
        as_int(value.get("memoryMB"), fallback.memory_mb) or fallback.memory_mb,
        as_int(value.get("virtualCores"), fallback.virtual_cores) or fallback.virtual_cores,
    )


def as_selector(value: Any) -> ArtifactSelector | None:
    """Return the artifact that a plugin requests; None when it requests none."""
    if not isinstance(value, Mapping):
        return None
    scope, name, version = (as_text(value.get(key)) or None for key in ("scope", "name", "version"))
    if scope is None and name is None and version is None:
        return None
    return ArtifactSelector(scope=scope and scope.upper(), name=name, version=version)


def artifact_to_json(artifact: ArtifactId) -> dict[str, str]:
    return {"name": artifact.name, "version": artifact.version, "scope": artifact.scope}


def describe_kind(value: Any) -> str:
    """Return the kind of a JSON value for messages, with its article: ``an object``, ``a list`` …"""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"
