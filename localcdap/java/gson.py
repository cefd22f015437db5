"""JSON as Gson reads and writes it by default.

It reads more than standard JSON: unquoted and single-quoted names and texts, ``;`` for ``,``, ``=`` and
``=>`` for ``:``, comments, ``NaN`` and ``Infinity`` (as texts, like the original) and missing elements of
arrays. It does not write null members of objects, and escapes ``< > & = '``.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from localcdap.java.numbers import LONG_MAX, LONG_MIN
from localcdap.java.strings import format_double, to_java_string

_MAX_DIGITS: Final = 4000
_MAX_LENIENT_LENGTH: Final = 4_000_000
"""The longest text that is parsed leniently, in characters: the lenient parser is written in Python."""
_BLANK: Final = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|#[^\r\n]*+|/\*.*?\*/)++", re.DOTALL)
_BARE: Final = re.compile(r"[^\s/\\;#=\[\]{}:,]+")
_QUOTED: Final = {
    '"': re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL),
    "'": re.compile(r"'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL),
}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_WORDS: Final = {"true": True, "false": False, "null": None}
_NON_EXECUTE: Final = ")]}'\n"
_UNSAFE: Final = re.compile("[<>&='\u2028\u2029]")


class JsonError(ValueError):
    """A text is not JSON that Gson would read."""


def read_json(text: str) -> Any:
    """Parse JSON; an empty text is None.

    :raises JsonError: when the text is not JSON, or nested too deeply.
    """
    try:
        return _parse_strictly(text)
    except json.JSONDecodeError as error:
        problem = error
    except RecursionError:
        raise JsonError("the JSON is nested too deeply") from None
    place = f"line {problem.lineno}, column {problem.colno}"
    if len(text) > _MAX_LENIENT_LENGTH:
        raise JsonError(f"it is not valid JSON ({place}): {problem.msg}")
    try:
        return _LenientParser(text).parse_document()
    except RecursionError:
        raise JsonError("the JSON is nested too deeply") from None
    except JsonError as error:
        raise JsonError(f"it is not valid JSON ({place}): {error}") from None


def _parse_strictly(text: str) -> Any:
    return json.loads(
        text, strict=False, parse_int=_parse_whole, parse_constant=lambda constant: constant
    )


def _parse_whole(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise JsonError(f"a number has {len(digits)} digits")
    return int(digits)


class _LenientParser:
    """A recursive descent parser of the JSON that only Gson accepts."""

    def __init__(self, text: str) -> None:
        self._text = text.removeprefix("\ufeff").removeprefix(_NON_EXECUTE)
        self._at = 0

    def parse_document(self) -> Any:
        if self._peek() == "":
            return None
        value = self._parse_value()
        if self._peek() != "":
            raise JsonError(f"there is more after its end: {self._quote_rest()}")
        return value

    def _peek(self) -> str:
        """Skip white space and comments, and return the next character; empty at the end."""
        blank = _BLANK.match(self._text, self._at)
        if blank is not None:
            self._at = blank.end()
        return self._text[self._at : self._at + 1]

    def _quote_rest(self) -> str:
        return repr(self._text[self._at : self._at + 20])

    def _parse_value(self) -> Any:
        match self._peek():
            case "{":
                return self._parse_object()
            case "[":
                return self._parse_array()
            case '"' | "'":
                return self._parse_quoted()
        return _parse_word(self._parse_bare())

    def _parse_object(self) -> dict[str, Any]:
        self._at += 1
        members: dict[str, Any] = {}
        while self._peek() != "}":
            name = self._parse_quoted() if self._peek() in ("'", '"') else self._parse_bare()
            if self._peek() not in (":", "=") or not self._peek():
                raise JsonError(f"a ':' is missing before {self._quote_rest()}")
            self._at += 2 if self._text.startswith("=>", self._at) else 1
            members[name] = self._parse_value()
            if not self._skip_separator("}"):
                break
        self._at += 1
        return members

    def _parse_array(self) -> list[Any]:
        self._at += 1
        found: list[Any] = []
        if self._peek() == "]":
            self._at += 1
            return found
        while True:
            found.append(None if self._peek() in (",", ";", "]") else self._parse_value())
            if not self._skip_separator("]"):
                break
        self._at += 1
        return found

    def _skip_separator(self, end: str) -> bool:
        """Skip a separator and return True, or return False at the closing bracket."""
        match self._peek():
            case "," | ";":
                self._at += 1
                return True
            case found if found == end:
                return False
        raise JsonError(f"',' or '{end}' is missing before {self._quote_rest()}")

    def _parse_quoted(self) -> str:
        found = _QUOTED[self._text[self._at]].match(self._text, self._at)
        if found is None:
            raise JsonError("a text has no end")
        self._at = found.end()
        return _ESCAPE.sub(_unescape, found[1]) if "\\" in found[1] else found[1]

    def _parse_bare(self) -> str:
        found = _BARE.match(self._text, self._at)
        if found is None:
            raise JsonError(f"a value is missing before {self._quote_rest()}")
        self._at = found.end()
        return found[0]


def _unescape(found: re.Match[str]) -> str:
    code, letter = found.groups()
    return chr(int(code, 16)) if code else _ESCAPED.get(letter, letter)


def _parse_word(word: str) -> Any:
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    number = _NUMBER.fullmatch(word)
    if number is None:
        return word
    return float(word) if number[1] or number[2] else _parse_whole(word)


def to_column_value(value: Any) -> Any:
    """Return a JSON value as the value of a column.

    A whole number of more than 64 bits becomes a decimal with all its digits; CDAP keeps the lowest 64 bits
    (Java's ``longValue``).
    """
    fits = type(value) is not int or LONG_MIN <= value <= LONG_MAX
    return value if fits else Decimal(value)


def write_json(value: Any) -> str:
    """Format a value as compact JSON. Dates and times become ISO 8601 texts, bytes lists of signed numbers.

    :raises ValueError: for NaN and infinite numbers, which JSON does not have.
    """
    out: list[str] = []
    _write(value, out.append)
    return "".join(out)


def _write(value: Any, put: Callable[[str], object]) -> None:
    if isinstance(value, str):
        put(_format_text(value))
    elif isinstance(value, Mapping):
        _write_object(value, put)
    elif isinstance(value, list | tuple):
        put("[")
        for index, each in enumerate(value):
            put("," if index else "")
            _write(each, put)
        put("]")
    elif isinstance(value, bytes):
        _write([each - 256 if each > 127 else each for each in value], put)
    else:
        put(_format_scalar(value))


def _write_object(value: Mapping[Any, Any], put: Callable[[str], object]) -> None:
    separator = "{"
    for name, each in value.items():
        if each is not None:
            put(f"{separator}{_format_text(to_java_string(name))}:")
            _write(each, put)
            separator = ","
    put("{}" if separator == "{" else "}")


def _format_scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{format_double(value)} cannot be written as JSON")
        return to_java_string(value)
    if isinstance(value, datetime.date | datetime.time):
        return _format_text(to_java_string(value))
    return str(value) if isinstance(value, Decimal) else to_java_string(value)


def _format_text(text: str) -> str:
    return escape_html(json.dumps(text, ensure_ascii=False))


def escape_html(text: str) -> str:
    """Escape ``< > & = '`` in JSON, and the two line separators of Unicode."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
