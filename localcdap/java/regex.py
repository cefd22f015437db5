"""Java's regular expressions, run by the ``regex`` library with a limit on the time of each match.

``regex`` knows what Java knows and ``re`` does not: possessive quantifiers, set intersections, Unicode
properties and a time limit; google-re2 would need no limit, but has no look-around and no back-references.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, Final

TIME_LIMIT: Final = 2.0
"""The time that one match may take, in seconds."""

_SHORT_LENGTH: Final = 500
"""The length, in characters, up to which only nested repeats can make a match slow."""

_LINE_ENDS: Final = r"\n\r\u0085\u2028\u2029"
_WORD: Final = r"[\p{L}\p{N}_]"
_ESCAPES: Final = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[a-zA-Z0-9_]",
    "W": "[^a-zA-Z0-9_]",
    "s": r"[ \t\n\x0b\f\r]",
    "S": r"[^ \t\n\x0b\f\r]",
    "v": r"[\n\x0b\f\r\u0085\u2028\u2029]",
    "V": r"[^\n\x0b\f\r\u0085\u2028\u2029]",
    "h": r"[ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "H": r"[^ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "t": r"\t",
    "n": r"\n",
    "r": r"\r",
    "f": r"\f",
    "a": r"\x07",
    "e": r"\x1b",
}
_ANCHORS: Final = {
    "b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    "B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
    "A": r"\A",
    "G": r"\G",
    "z": r"\Z",
    "Z": rf"(?=(?:\r\n|[{_LINE_ENDS}])?\Z)",
    "R": rf"(?:\r\n|[\x0b\f{_LINE_ENDS}])",
    "X": r"\X",
}
_POSIX: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
}
_PROPERTY: Final = re.compile(r"\{\^?(\w+)(?:=(\w+))?\}|(\w)")
_REFERENCE: Final = re.compile(r"\\k<(\w+)>")
_QUANTIFIER: Final = re.compile(r"\{\d+(?:,\d*)?\}")
_FLAGS: Final = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_IGNORES_CASE: Final = re.compile(r"\(\?[a-tv-zA-Z]*i[a-tv-zA-Z]*[:)-]")
"""Finds the flag ``i`` without the flag ``u``: only the case of ASCII letters is ignored."""
_NESTED: Final = re.compile(r"[+*}]\)?[+*{]|\)[+*{]")


class RegexError(ValueError):
    """A text is not a regular expression of Java; the message says why and where."""


class Regex:
    """A compiled pattern. Its methods raise :class:`TimeoutError` after :data:`TIME_LIMIT` seconds."""

    __slots__ = ("_has_nested_repeats", "groups", "pattern", "text")

    def __init__(self, text: str) -> None:
        import regex

        self.text: Final = text
        try:
            ascii_case = _IGNORES_CASE.search(text) and "\\p" not in text
            flags = regex.VERSION1 | (regex.ASCII if ascii_case else 0)
            self.pattern: Any = regex.compile(_Translation(text).translate(), flags)
        except regex.error as error:
            raise RegexError(f"'{text}' is not a regular expression: {error}") from None
        self.groups: int = self.pattern.groups
        self._has_nested_repeats: Final = has_nested_repeats(text)

    def _get_time_limit(self, text: str) -> float | None:
        """Return the time limit, which slows each match; None where a match cannot take long."""
        return TIME_LIMIT if self._has_nested_repeats or len(text) > _SHORT_LENGTH else None

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches (``String.matches``)."""
        return self.pattern.fullmatch(text, timeout=self._get_time_limit(text)) is not None

    def search(self, text: str) -> Any:
        """Return the first match as a match object, or None."""
        return self.pattern.search(text, timeout=self._get_time_limit(text))

    def find_all(self, text: str) -> list[Any]:
        """Return all matches, in order."""
        return list(self.pattern.finditer(text, timeout=self._get_time_limit(text)))

    def replace(self, text: str, replacement: str, count: int = 0) -> str:
        """Replace all matches, or the first ``count``, as ``String.replaceAll``.

        :param replacement: ``$1`` and ``${name}`` are groups; a backslash quotes the next character.
        """
        return str(
            self.pattern.sub(
                _build_replacement(replacement), text, count, timeout=self._get_time_limit(text)
            )
        )

    def split(self, text: str, limit: int = 0) -> list[str]:
        """Split as ``String.split``: an empty first match gives no part; limit 0 drops empty last parts."""
        parts: list[str] = []
        start = 0
        for match in self.pattern.finditer(text, timeout=self._get_time_limit(text)):
            if 0 < limit <= len(parts) + 1:
                break
            if match.end() == 0 or (match.start() == match.end() == len(text)):
                continue
            parts.append(text[start : match.start()])
            start = match.end()
        if not parts and start == 0:
            return [text]
        parts.append(text[start:])
        if limit == 0:
            while parts and not parts[-1]:
                parts.pop()
        return parts


def has_nested_repeats(text: str) -> bool:
    """Return whether a match may take more than linear time: whether the pattern has nested repeats."""
    return _NESTED.search(text) is not None


@functools.lru_cache(maxsize=1024)
def compile_regex(text: str) -> Regex:
    """Compile a pattern of Java.

    :raises RegexError: when it is invalid.
    """
    return Regex(text)


@functools.lru_cache(maxsize=1024)
def _build_replacement(replacement: str) -> Callable[[Any], str]:
    parts: list[str | int] = []
    at = 0
    for found in re.finditer(r"\\(.)|\$(\d)|\$\{(\w+)\}|[\\$]", replacement, re.DOTALL):
        parts.append(replacement[at : found.start()])
        at = found.end()
        quoted, number, name = found.groups()
        if quoted is None and number is None and name is None:
            raise RegexError("a '$' or '\\' in a replacement needs a group, or '\\' before it")
        parts.append(quoted if quoted is not None else int(number) if number else f"\0{name}")
    parts.append(replacement[at:])

    def replace(match: Any) -> str:
        out: list[str] = []
        for part in parts:
            if isinstance(part, str) and part[:1] != "\0":
                out.append(part)
            else:
                out.append(match.group(part if isinstance(part, int) else part[1:]) or "")
        return "".join(out)

    return replace


class _Translation:
    """The translation of one pattern to the syntax of the ``regex`` library."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.depth = 0
        flags = {c for m in _FLAGS.finditer(text) for c in m.group(1)}
        self.dot = "." if "s" in flags else f"[^{_LINE_ENDS}]"
        self.end = "$" if "m" in flags else _ANCHORS["Z"]

    def translate(self) -> str:
        while self.at < len(self.text):
            self._translate_character(self.text[self.at])
        return "".join(self.out)

    def _translate_character(self, char: str) -> None:
        if char == "\\":
            self._translate_escape()
        elif self.depth:
            self._translate_in_class(char)
        elif char == "[":
            self._translate_class()
        elif char == "{":
            self._translate_quantity()
        elif char == "(" and (flags := _FLAGS.match(self.text, self.at)):
            self._translate_flags(flags)
        else:
            self.out.append({".": self.dot, "$": self.end}.get(char, char))
            self.at += 1

    def _translate_flags(self, found: re.Match[str]) -> None:
        on = "".join(c for c in found.group(1) if c in "imsx")
        off = "".join(c for c in found.group(2) or "" if c in "imsx")
        if on or off or found.group(3) == ":":
            self.out.append(f"(?{on}{'-' + off if off else ''}{found.group(3)}")
        self.at = found.end()

    def _translate_quantity(self) -> None:
        found = _QUANTIFIER.match(self.text, self.at)
        if found is None:
            raise RegexError(
                f"'{self.text}' is not a regular expression: illegal repetition at {self.at}"
            )
        self.out.append(found.group())
        self.at = found.end()

    def _translate_class(self) -> None:
        self.depth += 1
        opening = "[^" if self.text.startswith("[^", self.at) else "["
        self.out.append(opening)
        self.at += len(opening)
        if self.text[self.at : self.at + 1] == "]" and not self.depth > 1:
            self.out.append(r"\]")
            self.at += 1

    def _translate_in_class(self, char: str) -> None:
        if char == "[":
            self._translate_class()
            return
        if char == "]":
            self.depth -= 1
            self.out.append("]")
        elif char == "&" and self.text.startswith("&&", self.at):
            self.out.append("&&")
            self.at += 1
        elif char in "|~&" or (char == "-" and self.text.startswith("--", self.at)):
            self.out.append("\\" + char)
        else:
            self.out.append(char)
        self.at += 1

    def _translate_escape(self) -> None:
        char = self.text[self.at + 1 : self.at + 2]
        if char == "Q":
            end = self.text.find("\\E", self.at)
            quoted = self.text[self.at + 2 : end if end >= 0 else None]
            self.out.append(re.sub(r"([^\w\s])", r"\\\1", quoted))
            self.at = end + 2 if end >= 0 else len(self.text)
        elif char in ("p", "P"):
            self._translate_property(char)
        elif char in _ESCAPES:
            self.out.append(_ESCAPES[char])
            self.at += 2
        elif char in _ANCHORS and not self.depth:
            self.out.append(_ANCHORS[char])
            self.at += 2
        elif char in ("x", "u", "0", "c"):
            self._translate_code(char)
        elif char == "k" and (found := _REFERENCE.match(self.text, self.at)):
            self.out.append(f"(?P={found.group(1)})")
            self.at = found.end()
        elif char.isdigit() and not self.depth:
            self.out.append("\\" + char)
            self.at += 2
        elif not char or (char.isascii() and char.isalpha()):
            raise RegexError(
                f"'{self.text}' is not a regular expression: illegal escape at {self.at}"
            )
        else:
            self.out.append(re.escape(char) if not char.isspace() else "\\" + char)
            self.at += 2

    def _translate_property(self, letter: str) -> None:
        found = _PROPERTY.match(self.text, self.at + 2)
        if found is None:
            raise RegexError(f"'{self.text}' is not a regular expression: no property at {self.at}")
        name = found.group(1) or found.group(3)
        self.at = found.end()
        if name in _POSIX:
            self.out.append(f"[{'^' if letter == 'P' else ''}{_POSIX[name]}]")
            return
        name = {"javaLowerCase": "Ll", "javaUpperCase": "Lu", "IsAlphabetic": "Alphabetic"}.get(
            name, name
        )
        value = f"{name}={found.group(2)}" if found.group(2) else name
        self.out.append(f"\\{letter}{{{value}}}")

    def _translate_code(self, letter: str) -> None:
        shape = {
            "x": r"\\x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))",
            "u": r"\\u([0-9a-fA-F]{4})",
            "0": r"\\0([0-3]?[0-7]{1,2})",
            "c": r"\\c(.)",
        }[letter]
        found = re.compile(shape, re.DOTALL).match(self.text, self.at)
        if found is None:
            raise RegexError(
                f"'{self.text}' is not a regular expression: illegal escape at {self.at}"
            )
        value = found.group(1) or found.group(2)
        number = ord(value) ^ 64 if letter == "c" else int(value, 8 if letter == "0" else 16)
        if number > 0x10FFFF:
            raise RegexError(
                f"'{self.text}' is not a regular expression: no such character at {self.at}"
            )
        self.out.append(f"\\U{number:08x}")
        self.at = found.end()
