"""Documents on their way out, as formatted JSON."""

from __future__ import annotations

import json
from typing import Any

import msgspec


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
