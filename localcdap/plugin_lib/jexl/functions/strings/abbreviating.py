"""``string:``: texts made shorter."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from localcdap.plugin_lib.jexl.functions.strings.namespace import string


@string("S I -> S", "abbreviate")
def abbreviate_end(text: str | None, width: int) -> str | None:
    return abbreviate(text, 0, width)


@string("S I I -> S")
def abbreviate(text: str | None, offset: int, width: int) -> str | None:
    if text is None:
        return None
    if width < 4:
        raise ValueError("Minimum abbreviation width is 4")
    if len(text) <= width:
        return text
    offset = min(offset, len(text))
    if len(text) - offset < width - 3:
        offset = len(text) - (width - 3)
    if offset <= 4:
        return text[: width - 3] + "..."
    if width < 7:
        raise ValueError("Minimum abbreviation width with offset is 7")
    if offset + width - 3 < len(text):
        return "..." + str(abbreviate(text[offset:], 0, width - 3))
    return "..." + text[-(width - 3) :]


@string("S S I -> S")
def abbreviateMiddle(text: str | None, middle: str | None, length: int) -> str | None:
    if not text or not middle or length >= len(text) or length < len(middle) + 2:
        return text
    kept = length - len(middle)
    return text[: kept // 2 + kept % 2] + middle + text[len(text) - kept // 2 :]
