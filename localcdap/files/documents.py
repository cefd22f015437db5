"""JSON documents in files, also with what programs write though JSON does not allow it."""

from __future__ import annotations

import json
import math
from typing import Any, Final

import msgspec

from localcdap.decoders import decode_json


def _parse_double(text: str) -> float:
    found = float(text)
    if math.isinf(found):
        raise ValueError(f"{text} is too large")
    return found


_DECODER: Final = json.JSONDecoder(parse_float=_parse_double)
"""Reads ``NaN`` and ``Infinity``, as pandas and others write them."""


def decode_document(text: str) -> Any:
    """Return the value of a JSON document.

    :raises msgspec.DecodeError: when the text is something else.
    """
    try:
        return decode_json(text)
    except msgspec.DecodeError as error:
        try:
            return _DECODER.decode(text)
        except (ValueError, RecursionError):
            raise error from None


def decode_documents(text: str) -> list[Any]:
    """Return the elements of a JSON array, or the JSON documents that follow each other.

    :raises msgspec.DecodeError: when the text is something else.
    """
    try:
        document = decode_document(text)
    except msgspec.DecodeError as error:
        found = _decode_following(text)
        if len(found) < 2:
            raise error from None
        return found
    return document if isinstance(document, list) else [document]


def _decode_following(text: str) -> list[Any]:
    """Return the JSON documents of a text with blanks or commas between them; none for another text."""
    found, start = [], 0
    while start < len(text):
        if text[start] in " \t\r\n,":
            start += 1
            continue
        try:
            document, start = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            return []
        found.append(document)
    return found
