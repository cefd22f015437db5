"""Formats of web server logs: Apache httpd (``%h %l %u %t``) and nginx (``$remote_addr - $remote_user``)."""

from __future__ import annotations

import re
from typing import Final

import msgspec

NUMBER: Final = "[0-9]*"
CLF_NUMBER: Final = "[0-9]*|-"
TEXT: Final = ".*"
WORD: Final = r"[^\s]*"
IP: Final = r"[0-9a-fA-F.:]+|-"
ANY_REQUEST: Final = "(?:.*)"
STAMP: Final = r"[0-3][0-9]/[a-zA-Z]{3}/[1-9][0-9]{3}:[0-9]{2}:[0-9]{2}:[0-9]{2} [-+|][0-9]{4}"

_APACHE_TOKEN: Final = re.compile(
    r"%(?:!?[0-9]{3}(?:,[0-9]{3})*)?(?P<mark>[<>]?)(?:\{(?P<name>[^}]*)\})?(?P<letter>\^t[io]|[a-zA-Z%])"
)
_NAMED_FORMATS: Final = {
    "common": '%h %l %u %t "%r" %>s %b',
    "combined": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    "combinedio": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %I %O',
    "referer": "%{Referer}i -> %U",
    "agent": "%{User-agent}i",
}
_APACHE_VALUES: Final = {
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
"""Kind, name and pattern of the value of each token of Apache."""
_APACHE_NAMED_VALUES: Final = {
    "C": ("HTTP.COOKIE", "request.cookies."),
    "e": ("VARIABLE", "server.environment."),
    "i": ("HTTP.HEADER", "request.header."),
    "^ti": ("HTTP.TRAILER", "request.trailer."),
    "n": ("STRING", "server.module_note."),
    "o": ("HTTP.HEADER", "response.header."),
    "^to": ("HTTP.TRAILER", "response.trailer."),
}
"""Kind of the value, and prefix of its name, of the tokens that take any name."""
_OF_ORIGINAL: Final = ("%s", "%U", "%T", "%D", "%r")
"""Tokens that mean the original request; the others mean the last request of a redirect."""

_NGINX_TOKEN: Final = re.compile(r"\$\{?(?P<name>[a-z0-9_]+)\}?")
_NGINX_VALUES: Final = {
    "remote_addr": ("IP", "connection.client.host", IP),
    "remote_user": ("STRING", "connection.client.user", TEXT),
    "remote_port": ("PORT", "connection.client.port", NUMBER),
    "time_local": ("TIME.STAMP", "request.receive.time", STAMP),
    "request": ("HTTP.FIRSTLINE", "request.firstline", ANY_REQUEST),
    "status": ("STRING", "request.status.last", WORD),
    "body_bytes_sent": ("BYTES", "response.body.bytes", CLF_NUMBER),
    "bytes_sent": ("BYTES", "response.bytes", CLF_NUMBER),
    "request_length": ("BYTES", "request.bytes", CLF_NUMBER),
    "request_method": ("HTTP.METHOD", "request.method", WORD),
    "request_time": ("SECOND_MILLIS", "response.server.processing.time", r"[0-9]*\.?[0-9]*"),
    "http_referer": ("HTTP.URI", "request.referer", TEXT),
    "http_user_agent": ("HTTP.USERAGENT", "request.user-agent", TEXT),
    "http_cookie": ("HTTP.COOKIES", "request.cookies", TEXT),
    "host": ("STRING", "connection.server.name", WORD),
    "server_addr": ("IP", "connection.server.ip", IP),
    "server_name": ("STRING", "connection.server.name.canonical", WORD),
    "server_port": ("PORT", "connection.server.port", NUMBER),
    "server_protocol": ("PROTOCOL", "request.protocol", WORD),
    "request_uri": ("HTTP.URI", "request.firstline.uri", TEXT),
}
"""Kind, name and pattern of the value of each variable of nginx."""


class LogToken(msgspec.Struct, frozen=True):
    """A value in a line, at the position that the format gives it."""

    kind: str
    names: tuple[str, ...]
    """The position in the request; one value may have several names."""
    pattern: str
    """A regular expression whose only group matches the value."""


class LogFormatError(ValueError):
    """A text is not a log format that can be read."""


def split_format(text: str) -> list[LogToken | str]:
    """Split a log format into its tokens and the texts between them.

    :param text: with Apache's tokens, with nginx's variables, or a name such as ``common``.
    :raises LogFormatError: for an unknown token.
    """
    format_ = _NAMED_FORMATS.get(text.strip().lower(), text)
    is_nginx = "$" in format_ and not _APACHE_TOKEN.search(format_)
    pattern = _NGINX_TOKEN if is_nginx else _APACHE_TOKEN
    parts: list[LogToken | str] = []
    at = 0
    for found in pattern.finditer(format_):
        parts.append(format_[at : found.start()])
        parts.append(_to_nginx_token(found) if is_nginx else _to_apache_token(found))
        at = found.end()
    return [*parts, format_[at:]]


def _to_apache_token(found: re.Match[str]) -> LogToken | str:
    """Return the token that a match of :data:`_APACHE_TOKEN` stands for; ``%%`` stands for the text ``%``.

    :raises LogFormatError: for an unknown token.
    """
    letter, name = found["letter"], found["name"]
    if letter == "%":
        return "%"
    text = f"%{letter}" if name is None else f"%{{{name.lower()}}}{letter}"
    known = _APACHE_VALUES.get(text)
    if known is not None:
        kind, position, pattern = known
        names = _list_names(text, position, found["mark"])
        return LogToken(kind, names, rf"\[({pattern})\]" if text == "%t" else f"({pattern})")
    if name is not None and letter in _APACHE_NAMED_VALUES:
        kind, prefix = _APACHE_NAMED_VALUES[letter]
        return LogToken(kind, (prefix + name.lower(),), f"({TEXT})")
    raise LogFormatError(f"'{found[0]}' is not a known token of log formats")


def _list_names(text: str, position: str, mark: str) -> tuple[str, ...]:
    legacy = ("server.process.time",) if text == "%D" else ()
    if mark:
        return (f"{position}.{'last' if mark == '>' else 'original'}", *legacy)
    is_original = text in _OF_ORIGINAL or text.endswith("}T")
    return position, f"{position}.{'original' if is_original else 'last'}", *legacy


def _to_nginx_token(found: re.Match[str]) -> LogToken:
    """Return the token that a match of :data:`_NGINX_TOKEN` stands for.

    :raises LogFormatError: for an unknown variable.
    """
    name = found["name"]
    known = _NGINX_VALUES.get(name)
    if known is None and name.startswith("http_"):
        known = ("HTTP.HEADER", f"request.header.{name[5:].replace('_', '-')}", TEXT)
    if known is None:
        raise LogFormatError(f"'{found[0]}' is not a known variable of nginx")
    kind, position, pattern = known
    return LogToken(kind, (position,), f"({pattern})")
