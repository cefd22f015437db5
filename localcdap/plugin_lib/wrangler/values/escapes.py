"""The escapes of Java's texts, which some arguments of directives may hold."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(r"\\(?:u+([0-9a-fA-F]{4})|([0-3]?[0-7]{1,2})|(.))", re.DOTALL)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def unescaped(text: str) -> str:
    r"""The text with ``\n``, ``\t``, ``\u000A``, ``\12`` and quoted characters as what they stand for."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(escape: re.Match[str]) -> str:
    code, octal, letter = escape.groups()
    if code is not None:
        return chr(int(code, 16))
    if octal is not None:
        return chr(int(octal, 8))
    return _LETTERS.get(letter, letter)
