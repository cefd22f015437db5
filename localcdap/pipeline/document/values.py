"""The JSON of documents: decoded with the place of each error, read as leniently as by CDAP, and formatted.

CDAP reads documents with Gson: it takes numbers and booleans for texts, and texts for numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from localcdap.api.errors import BadRequestError, DocumentError
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


def decode_json(document: Any, file: str | None = None, part: str | None = None) -> Any:
    """Return the JSON value of a document; decoded JSON is returned as it is.

    :param file: named in errors.
    :param part: the key that holds the text, for JSON text inside a document; named in errors.
    :raises DocumentError: when it is not valid JSON; knows line and column.
    """
    document = decode_text(document, file)
    if not isinstance(document, str):
        return document
    where = f"'{part}' in {describe_source(file)}" if part else describe_source(file)
    try:
        value = json.loads(document)
    except json.JSONDecodeError as error:
        raise DocumentError(
            f"{where} is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno}).",
            "Correct the text there; often a comma or a quote just before is missing or superfluous.",
            file=file,
            line=error.lineno,
            column=error.colno,
        ) from None
    except RecursionError:
        raise DocumentError(f"{where} is nested too deeply to be a pipeline.", file=file) from None
    except ValueError as error:
        raise DocumentError(f"{where} is not valid JSON: {error}.", file=file) from None
    if "\\ud" in document or "\\uD" in document:
        _refuse_lone_surrogates(value, where, file)
    return value


def describe_source(file: str | None) -> str:
    """Return how messages refer to the document."""
    return f"File '{file}'" if file else "The document"


def decode_text(document: Any, file: str | None = None) -> Any:
    """Return JSON text, or UTF-8 bytes of it, as text without a byte order mark; decoded JSON as it is.

    :raises DocumentError: when the bytes are not UTF-8; knows line and column.
    """
    if isinstance(document, str):
        return document.removeprefix("\ufeff")
    if not isinstance(document, (bytes, bytearray)):
        return document
    document = bytes(document)
    try:
        return document.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = document.count(b"\n", 0, error.start) + 1
        raise DocumentError(
            f"{describe_source(file)} is not UTF-8 text (line {line}).",
            "Save it as UTF-8.",
            file=file,
            line=line,
            column=error.start - document.rfind(b"\n", 0, error.start),
        ) from None


def _refuse_lone_surrogates(value: Any, where: str, file: str | None) -> None:
    # UTF-8 has no form for half a surrogate pair: it could not be stored, sent or shown later.
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise DocumentError(
            f"{where} contains half of a surrogate pair (\\ud800 to \\udfff), which is not a character.",
            "Write the character itself, or both halves.",
            file=file,
        ) from None


def require_text(*texts: str) -> None:
    """Check that texts can be stored.

    :raises BadRequestError: when one holds half of a surrogate pair, which UTF-8 cannot encode.
    """
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadRequestError(f"{text!a} is not UTF-8 text.") from None


def encode_document(document: Any) -> str:
    """Return the JSON text of a document; a text stays as it is."""
    if isinstance(document, str):
        return document.removeprefix("\ufeff")
    if isinstance(document, (bytes, bytearray)):
        return bytes(document).decode("utf-8-sig")
    return json.dumps(document, ensure_ascii=False)


def format_json(text: str) -> str:
    """Return JSON text indented by two; numbers and escapes stay as they were."""
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:  # NaN and Infinity, which Java's readers accept
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
