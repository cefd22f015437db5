"""Texts of strangers made fit for a terminal: nothing in them moves the cursor, colours or reorders."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

TAB: Final = 4
_ESCAPES: Final = re.compile(
    r"""
      (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]            # a control sequence, such as a colour
    | (?:\x1b\]|\x9d) [^\x07\x1b\x9c]* (?:\x07|\x1b\\|\x9c)?   # a command of the terminal, such as its title
    | (?:\x1b[PX^_]|[\x90\x98\x9e\x9f]) [^\x1b\x9c]* (?:\x1b\\|\x9c)?
    | \x1b [ -/]* [0-~]
    """,
    re.VERBOSE,
)
_PICTURES: Final = 0x2400
"""The first of Unicode's pictures of control characters."""
_SEPARATORS: Final = ("Zl", "Zp")


class _Replacements(dict[int, str]):
    """What each character becomes, found out when it is first seen."""

    def __missing__(self, code: int) -> str:
        self[code] = replaced = _replacement(chr(code))
        return replaced


def _replacement(character: str) -> str:
    category, code = unicodedata.category(character), ord(character)
    if character == "\n" or category not in ("Cc", "Cf", "Cs", *_SEPARATORS):
        return "" if 0xFE00 <= code <= 0xFE0F else character
    if code < 0x20:
        return chr(_PICTURES + code)
    if code == 0x7F:
        return "␡"
    return "·" if category == "Cf" else "�"


_REPLACEMENTS: Final = _Replacements()


def harmless(text: str) -> str:
    r"""The text without escape sequences, its tabs as blanks, other control characters as their pictures.

    Line ends stay, as ``\n``. Characters that turn the direction of writing or have no width become ``·``.
    """
    if text.isascii() and text.isprintable():
        return text
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n").expandtabs(TAB)
    return plain.translate(_REPLACEMENTS)
