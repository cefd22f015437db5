"""Where in the text of a TOML or JSON file a key stands."""

from __future__ import annotations

import re
from collections.abc import Sequence


def line_of(text: str, path: Sequence[str]) -> int:
    """The 1-based line of the key that a path of keys leads to, or of as much of it as is found."""
    place = 0
    for part in path:
        key = re.escape(part)
        found = re.compile(
            rf"""(?m)(?:^[ \t]*|[\[{{,.][ \t\n]*)(?:"{key}"|'{key}'|{key})[ \t]*(?:=|:|\]|\.)"""
        ).search(text, place)
        if found is None:
            break
        # The next key may follow right behind the mark that ends this one.
        place = found.end() - 1
        line = _key_start(text, found.start(), found.end())
    return text.count("\n", 0, line) + 1 if place else 1


def _key_start(text: str, start: int, end: int) -> int:
    """The place of the first letter in a part of a text."""
    bare = text[start:end].lstrip("[{,. \t\n")
    return end - len(bare)
