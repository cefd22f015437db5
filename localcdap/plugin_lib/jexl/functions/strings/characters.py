"""``string:``: what kinds of characters a text is of."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import unicodedata

from localcdap.plugin_lib.jexl.functions.strings.namespace import string


@string("S -> B")
def isAlpha(text: str | None) -> bool:
    return _each(text, "L")


@string("S -> B")
def isAlphaSpace(text: str | None) -> bool:
    return _each(text, "L", " ")


@string("S -> B")
def isAlphanumeric(text: str | None) -> bool:
    return text is not None and all(c.isalpha() or unicodedata.category(c) == "Nd" for c in text)


@string("S -> B")
def isAlphanumericSpace(text: str | None) -> bool:
    return text is not None and isAlphanumeric(text.replace(" ", ""))


@string("S -> B")
def isNumeric(text: str | None) -> bool:
    return text is not None and all(unicodedata.category(c) == "Nd" for c in text)


@string("S -> B")
def isNumericSpace(text: str | None) -> bool:
    return text is not None and isNumeric(text.replace(" ", ""))


@string("S -> B")
def isWhitespace(text: str | None) -> bool:
    return text is not None and all(map(is_space, text))


@string("S -> B")
def isAsciiPrintable(text: str | None) -> bool:
    return text is not None and all(" " <= char <= "~" for char in text)


@string("S -> B")
def isAllLowerCase(text: str | None) -> bool:
    return bool(text) and all(char.islower() for char in text or "")


@string("S -> B")
def isAllUpperCase(text: str | None) -> bool:
    return bool(text) and all(char.isupper() for char in text or "")


def is_space(char: str) -> bool:
    """``Character.isWhitespace``."""
    if char in "\xa0\u2007\u202f":
        return False
    return char in "\t\n\x0b\f\r\x1c\x1d\x1e\x1f" or unicodedata.category(char) in (
        "Zs",
        "Zl",
        "Zp",
    )


def _each(text: str | None, categories: str, also: str = "") -> bool:
    if text is None:
        return False
    return all(unicodedata.category(char)[0] in categories or char in also for char in text if char)
