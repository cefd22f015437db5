"""Lines of web server logs, by the format that Apache httpd or nginx writes them in.

Columns have the names that the original gives them: the kind of a value and where it is in the request,
``ip_connection_client_host``. What is left out of lines (``-``) is null.
"""

from __future__ import annotations

import datetime
import re
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from localcdap.java.dates.names import MONTHS
from localcdap.java.regex import RegexError, compile_regex

_NUMBER: Final = "[0-9]*"
_CLF_NUMBER: Final = "[0-9]*|-"
_TEXT: Final = ".*"
_WORD: Final = r"[^\s]*"
_IP: Final = r"[0-9a-fA-F.:]+|-"
_ANY_REQUEST: Final = "(?:.*)"
_REQUEST: Final = "[a-zA-Z_-]+ .*|-"
_STAMP: Final = r"[0-3][0-9]/[a-zA-Z]{3}/[1-9][0-9]{3}:[0-9]{2}:[0-9]{2}:[0-9]{2} [-+|][0-9]{4}"

_NAMED: Final = {
    "common": '%h %l %u %t "%r" %>s %b',
    "combined": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    "combinedio": '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %I %O',
    "referer": "%{Referer}i -> %U",
    "agent": "%{User-agent}i",
}
_TOKENS: Final = {
    "%a": ("IP", "connection.client.ip", _IP),
    "%{c}a": ("IP", "connection.client.peerip", _IP),
    "%A": ("IP", "connection.server.ip", _IP),
    "%B": ("BYTES", "response.body.bytes", _NUMBER),
    "%b": ("BYTESCLF", "response.body.bytes", _CLF_NUMBER),
    "%D": ("MICROSECONDS", "response.server.processing.time", _NUMBER),
    "%f": ("FILENAME", "server.filename", _TEXT),
    "%h": ("IP", "connection.client.host", _WORD),
    "%H": ("PROTOCOL", "request.protocol", _WORD),
    "%I": ("BYTES", "request.bytes", _CLF_NUMBER),
    "%k": ("NUMBER", "connection.keepalivecount", _NUMBER),
    "%l": ("NUMBER", "connection.client.logname", _CLF_NUMBER),
    "%L": ("STRING", "request.errorlogid", _WORD),
    "%m": ("HTTP.METHOD", "request.method", _WORD),
    "%O": ("BYTES", "response.bytes", _CLF_NUMBER),
    "%p": ("PORT", "request.server.port.canonical", _NUMBER),
    "%{canonical}p": ("PORT", "connection.server.port.canonical", _NUMBER),
    "%{local}p": ("PORT", "connection.server.port", _NUMBER),
    "%{remote}p": ("PORT", "connection.client.port", _NUMBER),
    "%P": ("NUMBER", "connection.server.child.processid", _NUMBER),
    "%{pid}P": ("NUMBER", "connection.server.child.processid", _NUMBER),
    "%{tid}P": ("NUMBER", "connection.server.child.threadid", _NUMBER),
    "%{hextid}P": ("NUMBER", "connection.server.child.hexthreadid", "[0-9a-fA-F]*|-"),
    "%q": ("HTTP.QUERYSTRING", "request.querystring", _WORD),
    "%r": ("HTTP.FIRSTLINE", "request.firstline", _ANY_REQUEST),
    "%R": ("STRING", "request.handler", _TEXT),
    "%s": ("STRING", "request.status", _WORD),
    "%S": ("BYTES", "total.bytes", "[1-9][0-9]*"),
    "%t": ("TIME.STAMP", "request.receive.time", _STAMP),
    "%{sec}t": ("TIME.SECONDS", "request.receive.time.sec", _NUMBER),
    "%{msec}t": ("TIME.EPOCH", "request.receive.time.msec", _NUMBER),
    "%{usec}t": ("TIME.EPOCH.USEC", "request.receive.time.usec", _NUMBER),
    "%T": ("SECONDS", "response.server.processing.time", _NUMBER),
    "%{s}T": ("SECONDS", "response.server.processing.time", _NUMBER),
    "%{ms}T": ("MILLISECONDS", "response.server.processing.time", _NUMBER),
    "%{us}T": ("MICROSECONDS", "response.server.processing.time", _NUMBER),
    "%u": ("STRING", "connection.client.user", _TEXT),
    "%U": ("URI", "request.urlpath", _WORD),
    "%v": ("STRING", "connection.server.name.canonical", _WORD),
    "%V": ("STRING", "connection.server.name", _WORD),
    "%X": ("HTTP.CONNECTSTATUS", "response.connection.status", _WORD),
    "%{cookie}i": ("HTTP.COOKIES", "request.cookies", _TEXT),
    "%{set-cookie}o": ("HTTP.SETCOOKIES", "response.cookies", _TEXT),
    "%{user-agent}i": ("HTTP.USERAGENT", "request.user-agent", _TEXT),
    "%{referer}i": ("HTTP.URI", "request.referer", _TEXT),
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
_VARIABLES: Final = {
    "remote_addr": ("IP", "connection.client.host", _IP),
    "remote_user": ("STRING", "connection.client.user", _TEXT),
    "remote_port": ("PORT", "connection.client.port", _NUMBER),
    "time_local": ("TIME.STAMP", "request.receive.time", _STAMP),
    "request": ("HTTP.FIRSTLINE", "request.firstline", _ANY_REQUEST),
    "status": ("STRING", "request.status.last", _WORD),
    "body_bytes_sent": ("BYTES", "response.body.bytes", _CLF_NUMBER),
    "bytes_sent": ("BYTES", "response.bytes", _CLF_NUMBER),
    "request_length": ("BYTES", "request.bytes", _CLF_NUMBER),
    "request_method": ("HTTP.METHOD", "request.method", _WORD),
    "request_time": ("SECOND_MILLIS", "response.server.processing.time", r"[0-9]*\.?[0-9]*"),
    "http_referer": ("HTTP.URI", "request.referer", _TEXT),
    "http_user_agent": ("HTTP.USERAGENT", "request.user-agent", _TEXT),
    "http_cookie": ("HTTP.COOKIES", "request.cookies", _TEXT),
    "host": ("STRING", "connection.server.name", _WORD),
    "server_addr": ("IP", "connection.server.ip", _IP),
    "server_name": ("STRING", "connection.server.name.canonical", _WORD),
    "server_port": ("PORT", "connection.server.port", _NUMBER),
    "server_protocol": ("PROTOCOL", "request.protocol", _WORD),
    "request_uri": ("HTTP.URI", "request.firstline.uri", _TEXT),
}
"""Those of nginx."""
_OF_ORIGINAL: Final = ("%s", "%U", "%T", "%D", "%r")
"""Tokens that mean the original request; others mean the last one it was redirected to."""

_APACHE: Final = re.compile(
    r"%(?:!?[0-9]{3}(?:,[0-9]{3})*)?(?P<mark>[<>]?)(?:\{(?P<name>[^}]*)\})?(?P<letter>\^t[io]|[a-zA-Z%])"
)
_NGINX: Final = re.compile(r"\$\{?(?P<name>[a-z0-9_]+)\}?")
_FIRST_LINE: Final = re.compile(r"([a-zA-Z_-]+) (.*?)(?: (HTTP/[0-9]+\.[0-9]+))?")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}
_UNWISE: Final = re.compile(r'[\x00-\x20\x7f{}|\\^\[\]`<>"]')
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9_]")
_HIDDEN: Final = ("original", "bytesclf", "cookie")
"""What the original leaves out, by a part of the name."""
_SAMPLES: Final = {
    "TIME.STAMP": "01/Jan/2000:00:00:00 +0000",
    "HTTP.FIRSTLINE": "GET / HTTP/1.0",
    "HTTP.URI": "http://localhost:80/",
}


class LogFormatError(ValueError):
    """A text is no format that is understood."""


class LineError(ValueError):
    """A line is not of the format."""


class _Token(msgspec.Struct, frozen=True):
    """What a group of the line's pattern holds."""

    kind: str
    names: tuple[str, ...]


class LogFormat:
    """Reads lines of a format.

    :param text: such as ``%h %l %u %t "%r" %>s %b``, ``common``, or with nginx's ``$variables``.
    :raises LogFormatError: for an unknown token.
    """

    def __init__(self, text: str) -> None:
        format = _NAMED.get(text.strip().lower(), text)
        self._tokens: list[_Token] = []
        is_nginx = "$" in format and not _APACHE.search(format)
        read = self._of_nginx if is_nginx else self._of_apache
        pattern, at = "", 0
        for found in (_NGINX if is_nginx else _APACHE).finditer(format):
            pattern += re.escape(format[at : found.start()]) + read(found)
            at = found.end()
        pattern = f"^{pattern}{re.escape(format[at:])}$"
        if not self._tokens:
            raise LogFormatError(f"'{text}' names nothing that a line holds, such as %h or $host")
        # A first line that is one tells apart the words around it; garbage in its place is read too.
        strict = pattern.replace(_ANY_REQUEST, _REQUEST)
        try:
            self._regexes = [compile_regex(each) for each in dict.fromkeys((strict, pattern))]
        except RegexError as error:
            raise LogFormatError(str(error)) from None

    @property
    def columns(self) -> list[str]:
        """Names that lines of the format give; parameters of queries add more."""
        found: dict[str, str | None] = {}
        for token in self._tokens:
            for name in token.names:
                _take(token.kind, name, _SAMPLES.get(token.kind), found)
        return list(found)

    def read(self, line: str) -> dict[str, str | None]:
        """The values of a line by column.

        :raises LineError: when it is not of the format.
        """
        searched = (regex.search(line) for regex in self._regexes)
        found = next((match for match in searched if match is not None), None)
        if found is None:
            raise LineError("the line is not of the format")
        values: dict[str, str | None] = {}
        for token, value in zip(self._tokens, found.groups(), strict=True):
            for name in token.names:
                _take(token.kind, name, None if value == "-" else value, values)
        return values

    def _of_apache(self, found: re.Match[str]) -> str:
        letter, name = found["letter"], found["name"]
        if letter == "%":
            return "%"
        token = f"%{letter}" if name is None else f"%{{{name.lower()}}}{letter}"
        known = _TOKENS.get(token)
        if known is not None:
            kind, place, pattern = known
            names = _names(token, place, found["mark"])
            if token == "%D":  # noqa: S105 - a token of the format
                names += ("server.process.time",)
        elif name is not None and letter in _OPEN:
            kind, before = _OPEN[letter]
            names, pattern = (before + name.lower(),), _TEXT
        else:
            raise LogFormatError(f"'{found[0]}' is no token of logs that is understood")
        self._tokens.append(_Token(kind, names))
        return rf"\[({pattern})\]" if token == "%t" else f"({pattern})"  # noqa: S105

    def _of_nginx(self, found: re.Match[str]) -> str:
        name = found["name"]
        known = _VARIABLES.get(name)
        if known is None and name.startswith("http_"):
            known = ("HTTP.HEADER", f"request.header.{name[5:].replace('_', '-')}", _TEXT)
        if known is None:
            raise LogFormatError(f"'{found[0]}' is no variable of nginx that is understood")
        kind, place, pattern = known
        self._tokens.append(_Token(kind, (place,)))
        return f"({pattern})"


def _names(token: str, place: str, mark: str) -> tuple[str, ...]:
    if mark:
        return (f"{place}.{'last' if mark == '>' else 'original'}",)
    is_original = token in _OF_ORIGINAL or token.endswith("}T")
    return place, f"{place}.{'original' if is_original else 'last'}"


def _take(kind: str, name: str, value: str | None, values: dict[str, str | None]) -> None:
    """Put a value and its parts under their columns."""
    if kind in ("HTTP.FIRSTLINE", "HTTP.USERAGENT", "HTTP.HEADER") and value and "\\" in value:
        value = _ESCAPE.sub(_unescaped, value)
    key = _NOT_IN_NAMES.sub("_", f"{kind}:{name}".lower())
    if not any(part in key for part in _HIDDEN):
        values[key] = value
    parts = _PARTS.get(kind)
    if parts is not None and "original" not in name:
        for inner, below, part in parts(value):
            _take(inner, f"{name}.{below}" if below else name, part, values)


def _unescaped(found: re.Match[str]) -> str:
    code, letter = found.groups()
    return chr(int(code, 16)) if code else _ESCAPED.get(letter, letter)


Parts = Iterator[tuple[str, str, str | None]]
"""Kind, name below that of the whole, value."""


def _of_bytes(value: str | None) -> Parts:
    yield "BYTES", "", value or "0"


def _of_milliseconds(value: str | None) -> Parts:
    if value:
        yield "MICROSECONDS", "", str(int(value) * 1000)


def _of_first_line(value: str | None) -> Parts:
    found = _FIRST_LINE.fullmatch(value) if value else None
    if found is not None:
        yield "HTTP.METHOD", "method", found[1]
        yield "HTTP.URI", "uri", found[2]
        yield "HTTP.PROTOCOL_VERSION", "protocol", found[3]


def _of_protocol(value: str | None) -> Parts:
    if value:
        protocol, _, version = value.partition("/")
        yield "HTTP.PROTOCOL", "", protocol
        yield "HTTP.PROTOCOL.VERSION", "version", version


def _of_uri(value: str | None) -> Parts:
    if not value:
        return
    text = _UNWISE.sub(lambda found: urllib.parse.quote(found[0], safe=""), value)
    if "?" in text or "&" in text:
        text = text.replace("?", "&").replace("&", "?&", 1)
    is_path = text.startswith("/")
    try:
        uri = urllib.parse.urlsplit(f"dummy://host{text}" if is_path else text)
        port = uri.port
    except ValueError:
        raise LineError(f"'{value}' is no URI") from None
    yield "HTTP.QUERYSTRING", "query", uri.query
    yield "HTTP.PATH", "path", urllib.parse.unquote(uri.path)
    yield "HTTP.REF", "ref", urllib.parse.unquote(uri.fragment) or None
    if not is_path:
        yield "HTTP.PROTOCOL", "protocol", uri.scheme or None
        yield "HTTP.USERINFO", "userinfo", uri.netloc.rpartition("@")[0] or None
        yield "HTTP.HOST", "host", uri.hostname
        if port is not None:
            yield "HTTP.PORT", "port", str(port)


def _of_query(value: str | None) -> Parts:
    for pair in (value or "").removeprefix("?").split("&"):
        name, _, text = pair.partition("=")
        if name:
            yield "STRING", name.lower(), urllib.parse.unquote_plus(text)


def _of_stamp(value: str | None) -> Parts:
    if not value:
        return
    try:
        moment = _moment(value)
        utc = moment.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        raise LineError(f"'{value}' is no time") from None
    yield from _of_moment(moment, "")
    yield "TIME.EPOCH", "epoch", str(int(moment.timestamp()) * 1000)
    yield from _of_moment(utc, "_utc")


def _moment(value: str) -> datetime.datetime:
    """``05/Sep/2010:11:27:50 +0200``, in English whatever the machine's language."""
    day, month, rest = value.split("/", 2)
    number = [name[:3].lower() for name in MONTHS].index(month.lower()) + 1
    return datetime.datetime.strptime(f"{day}/{number}/{rest}", "%d/%m/%Y:%H:%M:%S %z")


def _of_moment(moment: datetime.datetime, zone: str) -> Parts:
    week = moment.isocalendar()
    numbers = (
        ("DAY", "day", moment.day),
        ("MONTHNAME", "monthname", MONTHS[moment.month - 1]),
        ("MONTH", "month", moment.month),
        ("WEEK", "weekofweekyear", week.week),
        ("YEAR", "weekyear", week.year),
        ("YEAR", "year", moment.year),
        ("HOUR", "hour", moment.hour),
        ("MINUTE", "minute", moment.minute),
        ("SECOND", "second", moment.second),
        ("MILLISECOND", "millisecond", 0),
        ("DATE", "date", moment.date().isoformat()),
        ("TIME", "time", moment.time().isoformat()),
    )
    for kind, name, value in numbers:
        yield f"TIME.{kind}", name + zone, str(value)


_PARTS: Final[dict[str, Callable[[str | None], Parts]]] = {
    "BYTESCLF": _of_bytes,
    "MILLISECONDS": _of_milliseconds,
    "HTTP.FIRSTLINE": _of_first_line,
    "HTTP.PROTOCOL_VERSION": _of_protocol,
    "HTTP.URI": _of_uri,
    "HTTP.QUERYSTRING": _of_query,
    "TIME.STAMP": _of_stamp,
}
