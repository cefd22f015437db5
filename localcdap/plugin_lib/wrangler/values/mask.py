"""Masks for numbers that are written as text: card numbers, social security numbers."""

from __future__ import annotations


def masked(text: str, mask: str) -> str:
    """The text laid under the mask.

    ``#`` shows the character at its place, ``x`` and ``X`` hide it behind an ``x``; any other character
    stands for itself, and passes over an equal one of the text.

    >>> masked("000-00-1234", "xxx-xx-####")
    'xxx-xx-1234'
    """
    out = []
    at = 0
    for sign in mask:
        if sign == "#":
            if at < len(text):
                out.append(text[at])
                at += 1
        elif sign in "xX":
            out.append("x")
            at += 1
        else:
            if at < len(text) and text[at] == sign:
                at += 1
            out.append(sign)
    return "".join(out)
