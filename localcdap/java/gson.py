"""JSON as Gson reads and writes it by default.

It reads more than JSON is: names and texts without quotes or in single ones, ``;`` for ``,``, ``=`` and
``=>`` for ``:``, remarks, the words NaN and Infinity (texts, as the original leaves them), left out
elements of arrays. It writes no null members of objects, and ``< > & = '`` as escapes.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from localcdap.java.numbers import wrap
from localcdap.java.text import double_text, java_text

_MOST_DIGITS: Final = 4000
_MOST_LENIENT: Final = 4_000_000
"""Characters of a text that is not JSON to the letter; reading those is slow."""
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
    """A text is no JSON that Gson would read."""


def read_json(text: str) -> Any:
    """The value that a text holds; None for an empty one.

    :raises JsonError: when it is no JSON, or nested too deeply.
    """
    try:
        return _strictly(text)
    except json.JSONDecodeError as error:
        problem = error
    except RecursionError:
        raise JsonError("the JSON is nested too deeply") from None
    place = f"line {problem.lineno}, column {problem.colno}"
    if len(text) > _MOST_LENIENT:
        raise JsonError(f"it is no JSON ({place}): {problem.msg}")
    try:
        return _Lenient(text).document()
    except RecursionError:
        raise JsonError("the JSON is nested too deeply") from None
    except JsonError as error:
        raise JsonError(f"it is no JSON ({place}): {error}") from None


def _strictly(text: str) -> Any:
    return json.loads(
        text, strict=False, parse_int=_whole, parse_constant=lambda constant: constant
    )


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise JsonError(f"a number has {len(digits)} digits")
    return int(digits)


class _Lenient:
    """Reads a text that is not JSON to the letter."""

    def __init__(self, text: str) -> None:
        self._text = text.removeprefix("\ufeff").removeprefix(_NON_EXECUTE)
        self._at = 0

    def document(self) -> Any:
        if self._peek() == "":
            return None
        value = self._value()
        if self._peek() != "":
            raise JsonError(f"there is more behind its end: {self._rest()}")
        return value

    def _peek(self) -> str:
        """The next character that says something; empty at the end."""
        blank = _BLANK.match(self._text, self._at)
        if blank is not None:
            self._at = blank.end()
        return self._text[self._at : self._at + 1]

    def _rest(self) -> str:
        return repr(self._text[self._at : self._at + 20])

    def _value(self) -> Any:
        match self._peek():
            case "{":
                return self._object()
            case "[":
                return self._array()
            case '"' | "'":
                return self._quoted()
        return _word(self._bare())

    def _object(self) -> dict[str, Any]:
        self._at += 1
        members: dict[str, Any] = {}
        while self._peek() != "}":
            name = self._quoted() if self._peek() in ("'", '"') else self._bare()
            if self._peek() not in (":", "=") or not self._peek():
                raise JsonError(f"a ':' is missing before {self._rest()}")
            self._at += 2 if self._text.startswith("=>", self._at) else 1
            members[name] = self._value()
            if not self._goes_on("}"):
                break
        self._at += 1
        return members

    def _array(self) -> list[Any]:
        self._at += 1
        found: list[Any] = []
        if self._peek() == "]":
            self._at += 1
            return found
        while True:
            found.append(None if self._peek() in (",", ";", "]") else self._value())
            if not self._goes_on("]"):
                break
        self._at += 1
        return found

    def _goes_on(self, end: str) -> bool:
        """Whether a separator follows, and not the end; the separator is passed."""
        match self._peek():
            case "," | ";":
                self._at += 1
                return True
            case found if found == end:
                return False
        raise JsonError(f"',' or '{end}' is missing before {self._rest()}")

    def _quoted(self) -> str:
        found = _QUOTED[self._text[self._at]].match(self._text, self._at)
        if found is None:
            raise JsonError("a text has no end")
        self._at = found.end()
        return _ESCAPE.sub(_unescaped, found[1]) if "\\" in found[1] else found[1]

    def _bare(self) -> str:
        found = _BARE.match(self._text, self._at)
        if found is None:
            raise JsonError(f"a value is missing before {self._rest()}")
        self._at = found.end()
        return found[0]


def _unescaped(found: re.Match[str]) -> str:
    code, letter = found.groups()
    return chr(int(code, 16)) if code else _ESCAPED.get(letter, letter)


def _word(word: str) -> Any:
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    number = _NUMBER.fullmatch(word)
    if number is None:
        return word
    return float(word) if number[1] or number[2] else _whole(word)


def leaf(value: Any) -> Any:
    """A member of JSON as a column's value: whole numbers have 64 bits, as Java's ``longValue``."""
    return wrap(value, 64) if type(value) is int else value


def write_json(value: Any) -> str:
    """A value as compact JSON. Dates and times are texts in ISO 8601, bytes lists of signed numbers.

    :raises ValueError: for a number that JSON does not have: NaN and the infinite ones.
    """
    out: list[str] = []
    _write(value, out.append)
    return "".join(out)


def _write(value: Any, put: Callable[[str], object]) -> None:
    if isinstance(value, str):
        put(_text(value))
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
        put(_scalar(value))


def _write_object(value: Mapping[Any, Any], put: Callable[[str], object]) -> None:
    separator = "{"
    for name, each in value.items():
        if each is not None:
            put(f"{separator}{_text(java_text(name))}:")
            _write(each, put)
            separator = ","
    put("{}" if separator == "{" else "}")


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{double_text(value)} cannot be written as JSON")
        return double_text(value)
    if isinstance(value, datetime.date | datetime.time):
        return _text(java_text(value))
    return str(value) if isinstance(value, Decimal) else java_text(value)


def _text(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
