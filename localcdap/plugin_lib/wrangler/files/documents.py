"""JSON documents in a file that has no lines of JSON objects."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from localcdap.decoders import decode_json


def decode_documents(text: str) -> list[Any]:
    """Return the elements of a JSON array, or the JSON documents that follow each other.

    :raises msgspec.DecodeError: when the text is something else.
    """
    try:
        document = decode_json(text)
    except msgspec.DecodeError as error:
        found = _split_documents(text)
        if len(found) < 2:
            raise error from None
        return [decode_json(each) for each in found]
    return document if isinstance(document, list) else [document]


def _split_documents(text: str) -> list[str]:
    """Return the texts of JSON documents with blanks or commas between them; none for another text."""
    decoder = json.JSONDecoder()
    found, start = [], 0
    while start < len(text):
        if text[start] in " \t\r\n,":
            start += 1
            continue
        try:
            end = decoder.raw_decode(text, start)[1]
        except json.JSONDecodeError:
            return []
        found.append(text[start:end])
        start = end
    return found
