"""Edits of texts: ``sed`` scripts, ``cut -c`` ranges, masks for numbers, and the escapes of Java texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from localcdap.java.regex import RegexError, compile_regex
from localcdap.java.text_units import replace_halves, to_units

_FLAGS: Final = re.compile(r"(\d*)([gpI]*)")


def find_syntax_problem(read: Callable[[str], object], text: str) -> str | None:
    """Return why a text cannot be read; None for one that can be.

    :param read: reads it; raises a ValueError such as :class:`SedError` or
        :class:`localcdap.java.regex.RegexError` when it cannot.
    """
    try:
        read(text)
    except ValueError as error:
        return str(error)
    return None


class SedError(ValueError):
    """A text is not a script that can be run; the message says why."""


class Sed:
    """A ``sed`` script.

    >>> Sed("s/^data_//g").run("data_data_x")
    'data_x'

    :raises SedError: for a text that is not a sed script.
    """

    def __init__(self, script: str) -> None:
        stripped = script.strip()
        self.command: Final = stripped[:1]
        if self.command not in ("s", "y"):
            raise SedError(f"'{script}' is not a sed script: it begins with s/ or y/")
        self.pattern, self.replacement, flags = _split_script(stripped)
        self.nth: Final = _parse_number(script, flags)
        self.is_global: Final = "g" in flags
        self.ignores_case: Final = "I" in flags
        if self.command == "y":
            if len(self.pattern) != len(self.replacement):
                raise SedError(
                    f"'{script}' translates {len(self.pattern)} characters to another number"
                )
            self._table = str.maketrans(self.pattern, self.replacement)
            return
        try:
            # Java's flag applies to ASCII letters only.
            self._regex = compile_regex(
                f"(?i){self.pattern}" if self.ignores_case else self.pattern
            )
            self._regex.replace("", self.replacement)
        except RegexError as error:
            raise SedError(f"'{script}' is not a sed script: {error}") from None

    def run(self, text: str) -> str:
        """Change a text by the script.

        :raises TimeoutError: when the pattern takes too long.
        :raises IndexError: when the replacement names a group that the pattern has not.
        """
        if self.command == "y":
            return text.translate(self._table)
        if self.nth > 1:
            return self._run_from_nth(text)
        return self._regex.replace(text, self.replacement, 0 if self.is_global else 1)

    def _run_from_nth(self, text: str) -> str:
        found = self._regex.find_all(text)
        if len(found) < self.nth:
            return text
        start = found[self.nth - 1].start()
        count = 0 if self.is_global else 1
        return text[:start] + self._regex.replace(text[start:], self.replacement, count)


def _split_script(script: str) -> tuple[str, str, str]:
    delimiter = script[1:2]
    found: list[str] = []
    start = at = 2
    escaped = False
    while at < len(script) and len(found) < 2:
        character = script[at]
        if character == delimiter and not escaped:
            found.append(script[start:at])
            start = at + 1
        escaped = character == "\\" and not escaped
        at += 1
    if len(found) < 2 or not delimiter:
        raise SedError(
            f"'{script}' is not a sed script: its form is {script[:1]}/from/to/ with all three delimiters"
        )
    return found[0], found[1], script[start:]


def _parse_number(script: str, flags: str) -> int:
    match = _FLAGS.fullmatch(flags)
    if match is None or match[1] == "0":
        raise SedError(
            f"'{script}' is not a sed script: '{flags}' are not flags of it; there are g, I, p and a number"
        )
    return int(match[1]) if match[1] else 1


_PART: Final = re.compile(r"(\d+)?(-)?(\d+)?")
_LINE: Final = re.compile(r"[^\r\n]+")
_LAST_END: Final = re.compile(r"(?:\r\n|\n|\r)\Z")


class CharacterRanges:
    """Positions of characters in a line, from 1: ``1-3``, ``5,7``, ``-3``, ``9-``, and lists of these.

    Characters are UTF-16 units. The option ``-c`` may stand before them, as the documentation of the original
    has it.

    >>> CharacterRanges("1,2,3-5").cut("one two")
    'one t'

    :raises ValueError: for a text that is not a list of ranges, with a message.
    """

    def __init__(self, text: str) -> None:
        parts = text.removeprefix("-c ").split(",")
        self._spans = sorted(_parse_range(part.strip(), text) for part in parts)

    def cut(self, text: str) -> str:
        """Return the characters at the positions, line by line, each once and in the order of the line."""
        if "\n" not in text and "\r" not in text:
            return self._cut_line(text)
        last = _LAST_END.sub("", text)
        return _LINE.sub(lambda line: self._cut_line(line.group()), last)

    def _cut_line(self, line: str) -> str:
        line = to_units(line)
        out = []
        done = 0
        for start, end in self._spans:
            stop = len(line) if end is None else end
            out.append(line[max(start - 1, done) : stop])
            done = max(done, stop)
        return replace_halves("".join(out))


def _parse_range(part: str, whole: str) -> tuple[int, int | None]:
    match = _PART.fullmatch(part)
    if match is None or not (match[1] or match[3]):
        raise ValueError(f"'{whole}' is not a list of ranges such as 1-3, 5, -2 or 7-")
    start = int(match[1]) if match[1] else 1
    end = int(match[3]) if match[3] else (None if match[2] else start)
    if start < 1 or (end is not None and end < start):
        raise ValueError(
            f"'{part}' is not a range: positions begin at 1, and the end follows the start"
        )
    return start, end


def apply_mask(text: str, mask: str) -> str:
    """Mask a text.

    ``#`` shows the character at its position, ``x`` and ``X`` replace it by an ``x``; any other character
    stands for itself, and passes over an equal one of the text. Positions count UTF-16 units.

    >>> apply_mask("000-00-1234", "xxx-xx-####")
    'xxx-xx-1234'
    """
    out = []
    at = 0
    text = to_units(text)
    for sign in to_units(mask):
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
    return replace_halves("".join(out))


_ESCAPE: Final = re.compile(r"\\(?:u+([0-9a-fA-F]{4})|([0-3]?[0-7]{1,2})|(.))", re.DOTALL)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def unescape_java(text: str) -> str:
    r"""Replace the escapes ``\n``, ``\t``, ``\u000A``, ``\12`` and quoted characters in a text."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_replace_escape, text)


def _replace_escape(escape: re.Match[str]) -> str:
    code, octal, letter = escape.groups()
    if code is not None:
        return chr(int(code, 16))
    if octal is not None:
        return chr(int(octal, 8))
    return _LETTERS.get(letter, letter)
