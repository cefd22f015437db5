"""XML as objects of JSON, as ``XML.toJSONObject`` of org.json, and their text, as its ``toString``.

Elements and attributes become members, repeated ones arrays, and text among them the member ``content``. A
text may have several roots; comments, prologs, document types and what stands outside of elements are
skipped. Entities are never resolved, except the five of XML and character references; others stay as they
are written. The versions 20160212 and 20180813, which CDAP's plugins use, read numbers alike.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from localcdap.java.numbers import NumberFormatError, parse_double, parse_long
from localcdap.java.strings import TRIM_CHARACTERS, format_double

_CONTENT: Final = "content"
_TOKEN: Final = re.compile(
    r"<!--.*?-->|<!\[CDATA\[(?P<data>.*?)\]\]>|<\?.*?\?>|(?P<meta><!)(?!--|\[CDATA\[)"
    r"|</\s*(?P<close>[^\s<>/=]+)\s*>|<\s*(?P<open>[^\s<>/=!?]+)|(?P<text>[^<]+)",
    re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(
    r"""\s*(?:(?P<end>/?>)|(?P<name>[^\s=/<>"'!?&]+)
    (?:\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s=/<>"'!?]+)))?)""",
    re.VERBOSE,
)
_META: Final = re.compile(r""""[^"]*"|'[^']*'|[<>]|[^<>"']+""")
_ENTITY: Final = re.compile(r"&([0-9A-Za-z#]*)(;?)")
_KNOWN: Final = {"amp": "&", "apos": "'", "gt": ">", "lt": "<", "quot": '"'}
_WORDS: Final = {"true": True, "false": False, "null": None}
_PLAIN: Final = 1e7
"""From this number on Java writes doubles with an exponent."""


class XmlFormatError(ValueError):
    """A text is not XML."""


def parse_xml_object(text: str, *, keeps_texts: bool) -> dict[str, Any]:
    """Parse a text to an object.

    :param keeps_texts: whether texts stay texts; otherwise numbers, ``true``, ``false`` and ``null`` become
        values.
    :raises XmlFormatError: for elements that are not closed, or closed in the wrong order.
    """
    return _XmlReader(text, str if keeps_texts else _parse_value).read()


class _XmlReader:
    """Reads one text as an object."""

    def __init__(self, text: str, convert: Callable[[str], Any]) -> None:
        self._text = text
        self._convert_text = convert
        self._at = 0
        self._open: list[tuple[str, dict[str, Any]]] = []
        self._root: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        while self._at < len(self._text):
            token = _TOKEN.match(self._text, self._at)
            if token is None:
                raise self._make_error("a tag is not closed or not understood")
            self._at = token.end()
            self._handle_token(token)
        if self._open:
            raise XmlFormatError(f"the element '{self._open[-1][0]}' is not closed")
        return self._root

    def _make_error(self, problem: str) -> XmlFormatError:
        line = self._text.count("\n", 0, self._at) + 1
        return XmlFormatError(f"{problem}, line {line}: {self._text[self._at : self._at + 30]!r}")

    def _handle_token(self, token: re.Match[str]) -> None:
        match token.lastgroup:
            case "open":
                self._open_element(token["open"])
            case "close":
                self._close_element(token["close"])
            case "meta":
                self._skip_meta()
            case "data" if self._open and token["data"]:
                _accumulate(self._open[-1][1], _CONTENT, token["data"])
            case "text" if self._open:
                text = self._replace_entities(token["text"].strip(TRIM_CHARACTERS))
                if text:
                    _accumulate(self._open[-1][1], _CONTENT, self._convert_text(text))

    def _open_element(self, name: str) -> None:
        members: dict[str, Any] = {}
        while True:
            found = _ATTRIBUTE.match(self._text, self._at)
            if found is None:
                raise self._make_error(f"the tag of '{name}' is not understood")
            self._at = found.end()
            if found["end"] is not None:
                break
            given = found["double"] or found["single"] or found["bare"] or ""
            _accumulate(members, found["name"], self._convert_text(self._replace_entities(given)))
        if found["end"] == ">":
            self._open.append((name, members))
        else:
            self._add(name, members or "")

    def _close_element(self, name: str) -> None:
        if not self._open or self._open[-1][0] != name:
            expected = f"'{self._open[-1][0]}' is open" if self._open else "nothing is open"
            raise XmlFormatError(f"the element '{name}' is closed, but {expected}")
        _, members = self._open.pop()
        if list(members) == [_CONTENT]:
            self._add(name, members[_CONTENT])
        else:
            self._add(name, members or "")

    def _add(self, name: str, value: Any) -> None:
        _accumulate(self._open[-1][1] if self._open else self._root, name, value)

    def _skip_meta(self) -> None:
        depth = 1
        while depth:
            token = _META.match(self._text, self._at)
            if token is None:
                raise self._make_error("'<!' is not closed")
            self._at = token.end()
            depth += {"<": 1, ">": -1}.get(token[0], 0)

    def _replace_entities(self, text: str) -> str:
        return _ENTITY.sub(_replace_entity, text) if "&" in text else text


def _replace_entity(found: re.Match[str]) -> str:
    name, end = found.groups()
    if not end:
        raise XmlFormatError(f"a ';' is missing after '&{name}'")
    if name.startswith("#"):
        return html.unescape(found[0])
    return _KNOWN.get(name.lower(), found[0])


def _accumulate(members: dict[str, Any], name: str, value: Any) -> None:
    if name not in members:
        members[name] = [value] if isinstance(value, list) else value
        return
    present = members[name]
    if isinstance(present, list):
        present.append(value)
    else:
        members[name] = [present, value]


def _parse_value(text: str) -> Any:
    lower = text.lower()
    if lower in _WORDS:
        return _WORDS[lower]
    if not text or not (text[0] == "-" or "0" <= text[0] <= "9"):
        return text
    try:
        if "." in lower or "e" in lower or text == "-0":
            return _to_number(text)
        number = parse_long(text)
        return number if str(number) == text else text
    except NumberFormatError:
        return text


def _to_number(text: str) -> Any:
    number = parse_double(text)
    if number != number or abs(number) == float("inf"):
        return text
    is_plain = number.is_integer() and abs(number) < _PLAIN and text != "-0"
    return int(number) if is_plain else number


def format_object(value: Any) -> str:
    """Return the text of an object, an array or a value of :func:`parse_xml_object`.

    Members have the order of the document, where Java's have that of their hash codes.
    """
    if isinstance(value, Mapping):
        members = (f"{_quote(name)}:{format_object(each)}" for name, each in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(format_object, value))}]"
    if isinstance(value, str):
        return _quote(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value) if isinstance(value, int) else format_double(value).removesuffix(".0")


_QUOTED: Final = re.compile(r'["\\\x00-\x1f\x80-\x9f\u2000-\u20ff]|(?<=<)/')
_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def _quote(text: str) -> str:
    """Quote a text as ``JSONObject.quote``, which also escapes the slash of ``</``."""
    return f'"{_QUOTED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _SHORT.get(character) or f"\\u{ord(character):04x}"
