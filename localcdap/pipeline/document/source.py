"""Decodes the JSON of documents; every error is a :class:`DocumentError` with file, line and column."""

from __future__ import annotations

import json
from typing import Any

from localcdap.api.errors import BadRequestError, DocumentError


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
