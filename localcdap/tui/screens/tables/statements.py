"""Where one statement of a text ends and the next begins; what is being typed at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TOKEN: Final = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|(\$\w*\$).*?(?:\1|\Z)|;""",
    re.DOTALL,
)
_WORD: Final = re.compile(r'(?:(?P<owner>\w+|"[^"]*")\.)?(?P<word>"?\w*)$')
_INSIDE: Final = re.compile(r"--[^\n]*$|/\*(?:(?!\*/).)*$|'(?:[^']|'')*$", re.DOTALL)


def statement_at(text: str, offset: int) -> str:
    """The statement that a place in a text is in; of two that meet there, the one before it."""
    chosen = ""
    for start, end in _spans(text):
        if text[start:end].strip():
            chosen = text[start:end]
            if offset <= end + 1:
                break
    return chosen


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """From where to where statements go; semicolons in texts and comments end none."""
    start = 0
    for found in _TOKEN.finditer(text):
        if found[0] == ";":
            yield start, found.start()
            start = found.end()
    yield start, len(text)


def typed_before(text: str) -> tuple[str | None, str] | None:
    """What a word at the end of a text belongs to (``owner.``) and its beginning.

    :returns: None inside a text or comment, where nothing is completed.
    """
    plain = re.sub(r"'(?:[^']|'')*'|/\*.*?\*/|--[^\n]*\n", " ", text, flags=re.DOTALL)
    if _INSIDE.search(plain):
        return None
    found = _WORD.search(text)
    if found is None:
        return None
    owner = found["owner"]
    return (owner.strip('"') if owner else None), found["word"]
