"""Formats as Apache httpd writes them: ``%h %l %u %t``."""

from __future__ import annotations

import re
from typing import Final

from localcdap.plugin_lib.wrangler.formats.http_logs.tokens import (
    ANY_REQUEST,
    CLF_NUMBER,
    IP,
    NUMBER,
    STAMP,
    TEXT,
    WORD,
    LogFormatError,
    Token,
)

TOKEN: Final = re.compile(
    r"%(?:!?[0-9]{3}(?:,[0-9]{3})*)?(?P<mark>[<>]?)(?:\{(?P<name>[^}]*)\})?(?P<letter>\^t[io]|[a-zA-Z%])"
)
NAMED: Final = {
    "common": '%h %l %u %t "%r" %>s %b',
    "combined": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    "combinedio": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %I %O',
    "referer": "%{Referer}i -> %U",
    "agent": "%{User-agent}i",
}
"""Formats that have a name."""
_TOKENS: Final = {
    "%a": ("IP", "connection.client.ip", IP),
    "%{c}a": ("IP", "connection.client.peerip", IP),
    "%A": ("IP", "connection.server.ip", IP),
    "%B": ("BYTES", "response.body.bytes", NUMBER),
    "%b": ("BYTESCLF", "response.body.bytes", CLF_NUMBER),
    "%D": ("MICROSECONDS", "response.server.processing.time", NUMBER),
    "%f": ("FILENAME", "server.filename", TEXT),
    "%h": ("IP", "connection.client.host", WORD),
    "%H": ("PROTOCOL", "request.protocol", WORD),
    "%I": ("BYTES", "request.bytes", CLF_NUMBER),
    "%k": ("NUMBER", "connection.keepalivecount", NUMBER),
    "%l": ("NUMBER", "connection.client.logname", CLF_NUMBER),
    "%L": ("STRING", "request.errorlogid", WORD),
    "%m": ("HTTP.METHOD", "request.method", WORD),
    "%O": ("BYTES", "response.bytes", CLF_NUMBER),
    "%p": ("PORT", "request.server.port.canonical", NUMBER),
    "%{canonical}p": ("PORT", "connection.server.port.canonical", NUMBER),
    "%{local}p": ("PORT", "connection.server.port", NUMBER),
    "%{remote}p": ("PORT", "connection.client.port", NUMBER),
    "%P": ("NUMBER", "connection.server.child.processid", NUMBER),
    "%{pid}P": ("NUMBER", "connection.server.child.processid", NUMBER),
    "%{tid}P": ("NUMBER", "connection.server.child.threadid", NUMBER),
    "%{hextid}P": ("NUMBER", "connection.server.child.hexthreadid", "[0-9a-fA-F]*|-"),
    "%q": ("HTTP.QUERYSTRING", "request.querystring", WORD),
    "%r": ("HTTP.FIRSTLINE", "request.firstline", ANY_REQUEST),
    "%R": ("STRING", "request.handler", TEXT),
    "%s": ("STRING", "request.status", WORD),
    "%S": ("BYTES", "total.bytes", "[1-9][0-9]*"),
    "%t": ("TIME.STAMP", "request.receive.time", STAMP),
    "%{sec}t": ("TIME.SECONDS", "request.receive.time.sec", NUMBER),
    "%{msec}t": ("TIME.EPOCH", "request.receive.time.msec", NUMBER),
    "%{usec}t": ("TIME.EPOCH.USEC", "request.receive.time.usec", NUMBER),
    "%T": ("SECONDS", "response.server.processing.time", NUMBER),
    "%{s}T": ("SECONDS", "response.server.processing.time", NUMBER),
    "%{ms}T": ("MILLISECONDS", "response.server.processing.time", NUMBER),
    "%{us}T": ("MICROSECONDS", "response.server.processing.time", NUMBER),
    "%u": ("STRING", "connection.client.user", TEXT),
    "%U": ("URI", "request.urlpath", WORD),
    "%v": ("STRING", "connection.server.name.canonical", WORD),
    "%V": ("STRING", "connection.server.name", WORD),
    "%X": ("HTTP.CONNECTSTATUS", "response.connection.status", WORD),
    "%{cookie}i": ("HTTP.COOKIES", "request.cookies", TEXT),
    "%{set-cookie}o": ("HTTP.SETCOOKIES", "response.cookies", TEXT),
    "%{user-agent}i": ("HTTP.USERAGENT", "request.user-agent", TEXT),
    "%{referer}i": ("HTTP.URI", "request.referer", TEXT),
}
"""Kind, name and pattern of what Apache's tokens stand for."""
_OPEN: Final = {
    "C": ("HTTP.COOKIE", "request.cookies."),
    "e": ("VARIABLE", "server.environment."),
    "i": ("HTTP.HEADER", "request.header."),
    "^ti": ("HTTP.TRAILER", "request.trailer."),
    "n": ("STRING", "server.module_note."),
    "o": ("HTTP.HEADER", "response.header."),
    "^to": ("HTTP.TRAILER", "response.trailer."),
}
"""Tokens that take any name: kind, and what stands before the name."""
_OF_ORIGINAL: Final = ("%s", "%U", "%T", "%D", "%r")
"""Tokens that mean the original request; others mean the last one it was redirected to."""


def token(found: re.Match[str]) -> Token | None:
    """What is meant by a match of :data:`TOKEN`; None for ``%%``.

    :raises LogFormatError: for one that is not known.
    """
    letter, name = found["letter"], found["name"]
    if letter == "%":
        return None
    text = f"%{letter}" if name is None else f"%{{{name.lower()}}}{letter}"
    known = _TOKENS.get(text)
    if known is not None:
        kind, place, pattern = known
        names = _names(text, place, found["mark"])
        return Token(kind, names, rf"\[({pattern})\]" if text == "%t" else f"({pattern})")
    if name is not None and letter in _OPEN:
        kind, before = _OPEN[letter]
        return Token(kind, (before + name.lower(),), f"({TEXT})")
    raise LogFormatError(f"'{found[0]}' is no token of logs that is understood")


def _names(text: str, place: str, mark: str) -> tuple[str, ...]:
    older = ("server.process.time",) if text == "%D" else ()
    if mark:
        return (f"{place}.{'last' if mark == '>' else 'original'}", *older)
    is_original = text in _OF_ORIGINAL or text.endswith("}T")
    return place, f"{place}.{'original' if is_original else 'last'}", *older
