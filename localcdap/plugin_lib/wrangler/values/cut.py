"""The ranges of ``cut -c``."""

from __future__ import annotations

import re
from typing import Final

_PART: Final = re.compile(r"(\d+)?(-)?(\d+)?")
_LINE: Final = re.compile(r"[^\r\n]+")
_LAST_END: Final = re.compile(r"(?:\r\n|\n|\r)\Z")


class Ranges:
    """Places of characters in a line, from 1: ``1-3``, ``5,7``, ``-3``, ``9-``, and lists of these.

    The option ``-c`` may stand before them, as the documentation of the original has it.

    >>> Ranges("1,2,3-5").cut("one two")
    'one t'

    :raises ValueError: for a text that is none, with a message.
    """

    def __init__(self, text: str) -> None:
        parts = text.removeprefix("-c ").split(",")
        self._spans = sorted(_span(part.strip(), text) for part in parts)

    def cut(self, text: str) -> str:
        """The characters at the places, line by line; each once and in the order of the line."""
        if "\n" not in text and "\r" not in text:
            return self._cut_line(text)
        last = _LAST_END.sub("", text)
        return _LINE.sub(lambda line: self._cut_line(line.group()), last)

    def _cut_line(self, line: str) -> str:
        out = []
        done = 0
        for start, end in self._spans:
            stop = len(line) if end is None else end
            out.append(line[max(start - 1, done) : stop])
            done = max(done, stop)
        return "".join(out)


def _span(part: str, whole: str) -> tuple[int, int | None]:
    match = _PART.fullmatch(part)
    if match is None or not (match[1] or match[3]):
        raise ValueError(f"'{whole}' is no list of ranges such as 1-3, 5, -2 or 7-")
    start = int(match[1]) if match[1] else 1
    end = int(match[3]) if match[3] else (None if match[2] else start)
    if start < 1 or (end is not None and end < start):
        raise ValueError(f"'{part}' is no range: places begin at 1, and the end follows the start")
    return start, end
