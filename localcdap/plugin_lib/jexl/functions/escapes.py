"""``escape:``: commons-lang's ``StringEscapeUtils``."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import html
import re
from html.entities import codepoint2name
from typing import Any

from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

escape = FunctionNamespace("escape")

_CONTROLS = {"\b": "\\b", "\n": "\\n", "\t": "\\t", "\f": "\\f", "\r": "\\r"}
_BACK = {"b": "\b", "n": "\n", "t": "\t", "f": "\f", "r": "\r"}
_BASIC = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAMED = {chr(point): f"&{name};" for point, name in codepoint2name.items()}
_HTML3 = {char: name for char, name in _NAMED.items() if ord(char) < 256} | _BASIC


def _unicode(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02X}" for at in range(0, len(units), 2))


def encode(text: str, also: str) -> str:
    out = []
    for char in text:
        if char in _CONTROLS:
            out.append(_CONTROLS[char])
        elif char in also:
            out.append("\\" + char)
        else:
            out.append(char if " " <= char <= "\x7f" else _unicode(char))
    return "".join(out)


def _declare_coded() -> None:
    for name, also in (("Java", '"\\'), ("EcmaScript", "'\"\\/"), ("Json", '"\\/')):
        escape("S -> S", f"escape{name}")(_build_encoder(also))
        escape("S -> S", f"unescape{name}")(_decode)


def _build_encoder(also: str) -> Any:
    def escape(text: str | None) -> str | None:
        return None if text is None else encode(text, also)

    return escape


def _decode(text: str | None) -> str | None:
    def replace(found: re.Match[str]) -> str:
        octal, code, char = found.groups()
        if octal:
            return chr(int(octal, 8))
        return chr(int(code, 16)) if code else _BACK.get(char, char)

    if text is None:
        return None
    decoded = re.sub(
        r"\\(?:([0-3]?[0-7]{1,2})|u+\+?([0-9a-fA-F]{4})|(.))", replace, text, flags=re.DOTALL
    )
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_declare_coded()


@escape("S -> S", "escapeXml", "escapeXml10", "escapeXml11")
def escape_xml(text: str | None) -> str | None:
    if text is None:
        return None
    return "".join({**_BASIC, "'": "&apos;"}.get(char, char) for char in _NOT_XML.sub("", text))


@escape("S -> S")
def unescapeXml(text: str | None) -> str | None:
    if text is None:
        return None
    return re.sub(
        r"&(?:amp|lt|gt|quot|apos|#\d+|#[xX][0-9a-fA-F]+);",
        lambda f: html.unescape(f.group()),
        text,
    )


@escape("S -> S")
def escapeHtml4(text: str | None) -> str | None:
    return None if text is None else "".join(_NAMED.get(char, char) for char in text)


@escape("S -> S")
def escapeHtml3(text: str | None) -> str | None:
    return None if text is None else "".join(_HTML3.get(char, char) for char in text)


@escape("S -> S", "unescapeHtml4", "unescapeHtml3")
def unescapeHtml4(text: str | None) -> str | None:
    return None if text is None else html.unescape(text)


@escape("S -> S")
def escapeCsv(text: str | None) -> str | None:
    if text is None or not any(char in text for char in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


@escape("S -> S")
def unescapeCsv(text: str | None) -> str | None:
    if text is None or len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    inner = text[1:-1]
    return inner.replace('""', '"') if any(char in inner for char in ',"\r\n') else text
