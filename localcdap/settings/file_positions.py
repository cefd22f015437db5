"""Where a key stands in the file of the settings."""

from __future__ import annotations

import re
from typing import Final


class PositionFinder:
    """Returns the file and line of a key."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text

    def __call__(self, key: str) -> str:
        return f"{self._file}:{find_line(self._text, key)}"


_KEY: Final = re.compile(r"""((?:"[^"]*"|'[^']*'|[^"'=#])+)=""")


def find_line(text: str, key: str) -> int:
    """Return the 1-based line that sets a key, or opens the table of that name; 1 when there is none."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if header := re.fullmatch(r"\[+\s*(.+?)\s*\]+\s*(#.*)?", bare):
            section = _unquote_toml_key(header[1]) + "."
            if section.startswith(f"{key}."):
                return number
        elif match := _KEY.match(bare):
            name = section + _unquote_toml_key(match[1])
            if name == key or name.startswith(f"{key}."):
                return number
    # A key of an inline table is on the line of the table.
    parent = key.rpartition(".")[0]
    return find_line(text, parent) if parent else 1


def _unquote_toml_key(key: str) -> str:
    """Return a dotted key without quotes and spaces around its parts."""
    parts = re.findall(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."']+))\s*""", key)
    return ".".join((double or single or bare).strip() for double, single, bare in parts)
