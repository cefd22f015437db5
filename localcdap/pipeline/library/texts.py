"""The text of a pipeline document, kept as it was given."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from localcdap.api.errors import BadRequestError


def text_of(document: Any) -> str:
    """The JSON text of a document that can be read as JSON; a text stays as it is."""
    if isinstance(document, str):
        return document.removeprefix("\ufeff")
    if isinstance(document, (bytes, bytearray)):
        return bytes(document).decode("utf-8-sig")
    return json.dumps(document, ensure_ascii=False)


def require_text(*texts: str) -> None:
    """:raises BadRequestError: when one holds half of a surrogate pair, which can be stored nowhere."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadRequestError(f"{text!a} is no UTF-8 text.") from None


def formatted(text: str) -> str:
    """JSON text on lines of its own, indented by two; numbers and escapes are written as they were."""
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:  # NaN and Infinity, which Java's readers take
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
