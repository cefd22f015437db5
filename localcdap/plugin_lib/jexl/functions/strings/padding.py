"""``string:``: texts repeated, and filled up to a length."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

from localcdap.plugin_lib.jexl.functions.strings.namespace import string

LONGEST = 10_000_000
"""Characters that padding and repeating may make."""


@string("S I -> S")
def repeat(text: str | None, count: int) -> str | None:
    return None if text is None else text * (checked_length(len(text) * max(count, 0)) and count)


@string("S S I -> S", "repeat")
def repeat_separated(text: str | None, separator: str | None, count: int) -> str | None:
    if text is None or separator is None:
        return repeat(text, count)
    checked_length((len(text) + len(separator)) * max(count, 0))
    return separator.join([text] * max(count, 0))


@string("S I -> S", "rightPad")
def right_pad_spaces(text: str | None, size: int) -> str | None:
    return rightPad(text, size, " ")


@string("S I S -> S")
def rightPad(text: str | None, size: int, pad: str | None) -> str | None:
    return None if text is None else text + padding(pad, size - len(text))


@string("S I -> S", "leftPad")
def left_pad_spaces(text: str | None, size: int) -> str | None:
    return leftPad(text, size, " ")


@string("S I S -> S")
def leftPad(text: str | None, size: int, pad: str | None) -> str | None:
    return None if text is None else padding(pad, size - len(text)) + text


@string("S I -> S", "center")
def center_spaces(text: str | None, size: int) -> str | None:
    return center(text, size, " ")


@string("S I S -> S")
def center(text: str | None, size: int, pad: str | None) -> str | None:
    if text is None or size <= len(text):
        return text
    return rightPad(leftPad(text, len(text) + (size - len(text)) // 2, pad), size, pad)


def padding(pad: str | None, count: int) -> str:
    pad = pad or " "
    checked_length(count)
    return (pad * (count // len(pad) + 1))[: max(count, 0)]


def checked_length(length: int) -> int:
    if length > LONGEST:
        raise ValueError(f"a text of {length} characters would be too long; {LONGEST} are allowed")
    return length
