"""The directive that reads lines of web server logs, and the formats of these lines.

Columns have the names that the original gives them: the kind of a value and its position in the
request, such as ``ip_connection_client_host``. A value that a line leaves out (``-``) is null.

Formats of web server logs: Apache httpd (``%h %l %u %t``) and nginx (``$remote_addr - $remote_user``).
"""

from __future__ import annotations

import datetime
import re
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from localcdap.api.directive import Columns, Directive, Row, RowContext, argument, plugin
from localcdap.api.schema import Schema
from localcdap.java.dates.zones import MONTHS
from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    make_type_error,
    report_missing_column,
)

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


_REQUEST: Final = "[a-zA-Z_-]+ .*|-"
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9_]")
_HIDDEN: Final = ("original", "bytesclf", "cookie")
"""Parts of the names that the original leaves out."""
_SAMPLES: Final = {
    "TIME.STAMP": "01/Jan/2000:00:00:00 +0000",
    "HTTP.FIRSTLINE": "GET / HTTP/1.0",
    "HTTP.URI": "http://localhost:80/",
}


class LogFormat:
    """Reads lines in a format.

    :param text: such as ``%h %l %u %t "%r" %>s %b``, ``common``, or with nginx's ``$variables``.
    :raises LogFormatError: for an unknown token.
    """

    def __init__(self, text: str) -> None:
        parts = split_format(text)
        self._tokens: list[LogToken] = [part for part in parts if isinstance(part, LogToken)]
        if not self._tokens:
            raise LogFormatError(f"'{text}' names nothing that a line holds, such as %h or $host")
        patterns = [re.escape(part) if isinstance(part, str) else part.pattern for part in parts]
        pattern = f"^{''.join(patterns)}$"
        # A well-formed request separates the words around it; garbage in its position is read too.
        strict = pattern.replace(ANY_REQUEST, _REQUEST)
        try:
            self._regexes = [compile_regex(each) for each in dict.fromkeys((strict, pattern))]
        except RegexError as error:
            raise LogFormatError(str(error)) from None

    @property
    def columns(self) -> list[str]:
        """The columns of lines in the format; parameters of queries add more."""
        found: dict[str, str | None] = {}
        for token in self._tokens:
            for name in token.names:
                _add_value(token.kind, name, _SAMPLES.get(token.kind), found)
        return list(found)

    def read(self, line: str) -> dict[str, str | None]:
        """Return the values of a line by column.

        :raises LineError: for a line that is not in the format.
        """
        searched = (regex.search(line) for regex in self._regexes)
        found = next((match for match in searched if match is not None), None)
        if found is None:
            raise LineError("the line is not of the format")
        values: dict[str, str | None] = {}
        for token, value in zip(self._tokens, found.groups(), strict=True):
            for name in token.names:
                _add_value(token.kind, name, None if value == "-" else value, values)
        return values


def _add_value(kind: str, name: str, value: str | None, values: dict[str, str | None]) -> None:
    """Add a value and its parts to their columns."""
    if kind in ("HTTP.FIRSTLINE", "HTTP.USERAGENT", "HTTP.HEADER") and value and "\\" in value:
        value = _ESCAPE.sub(_replace_escape, value)
    key = _NOT_IN_NAMES.sub("_", f"{kind}:{name}".lower())
    if not any(part in key for part in _HIDDEN):
        values[key] = value
    parts = PARTS.get(kind)
    if parts is not None and "original" not in name:
        for inner, below, part in parts(value):
            _add_value(inner, f"{name}.{below}" if below else name, part, values)


def _replace_escape(found: re.Match[str]) -> str:
    code, letter = found.groups()
    return chr(int(code, 16)) if code else _ESCAPED.get(letter, letter)


_FIRST_LINE: Final = re.compile(r"([a-zA-Z_-]+) (.*?)(?: (HTTP/[0-9]+\.[0-9]+))?")
_UNWISE: Final = re.compile(r'[\x00-\x20\x7f{}|\\^\[\]`<>"]')


class LineError(ValueError):
    """A line is not in the format."""


Parts = Iterator[tuple[str, str, str | None]]
"""Kind, name relative to that of the whole value, and value of each part."""


def _split_bytes(value: str | None) -> Parts:
    yield "BYTES", "", value or "0"


def _split_milliseconds(value: str | None) -> Parts:
    if value:
        yield "MICROSECONDS", "", str(int(value) * 1000)


def _split_first_line(value: str | None) -> Parts:
    found = _FIRST_LINE.fullmatch(value) if value else None
    if found is not None:
        yield "HTTP.METHOD", "method", found[1]
        yield "HTTP.URI", "uri", found[2]
        yield "HTTP.PROTOCOL_VERSION", "protocol", found[3]


def _split_protocol(value: str | None) -> Parts:
    if value:
        protocol, _, version = value.partition("/")
        yield "HTTP.PROTOCOL", "", protocol
        yield "HTTP.PROTOCOL.VERSION", "version", version


def _split_uri(value: str | None) -> Parts:
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
        raise LineError(f"'{value}' is not a URI") from None
    yield "HTTP.QUERYSTRING", "query", uri.query
    yield "HTTP.PATH", "path", urllib.parse.unquote(uri.path)
    yield "HTTP.REF", "ref", urllib.parse.unquote(uri.fragment) or None
    if not is_path:
        yield "HTTP.PROTOCOL", "protocol", uri.scheme or None
        yield "HTTP.USERINFO", "userinfo", uri.netloc.rpartition("@")[0] or None
        yield "HTTP.HOST", "host", uri.hostname
        if port is not None:
            yield "HTTP.PORT", "port", str(port)


def _split_query(value: str | None) -> Parts:
    for pair in (value or "").removeprefix("?").split("&"):
        name, _, text = pair.partition("=")
        if name:
            yield "STRING", name.lower(), urllib.parse.unquote_plus(text)


def _split_time(value: str | None) -> Parts:
    if not value:
        return
    try:
        moment = _parse_time(value)
        utc = moment.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        raise LineError(f"'{value}' is not a time") from None
    yield from _split_datetime(moment, "")
    yield "TIME.EPOCH", "epoch", str(int(moment.timestamp()) * 1000)
    yield from _split_datetime(utc, "_utc")


def _parse_time(value: str) -> datetime.datetime:
    """Parse ``05/Sep/2010:11:27:50 +0200``, in English in every locale."""
    day, month, rest = value.split("/", 2)
    number = [name[:3].lower() for name in MONTHS].index(month.lower()) + 1
    return datetime.datetime.strptime(f"{day}/{number}/{rest}", "%d/%m/%Y:%H:%M:%S %z")


def _split_datetime(moment: datetime.datetime, zone: str) -> Parts:
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


PARTS: Final[dict[str, Callable[[str | None], Parts]]] = {
    "BYTESCLF": _split_bytes,
    "MILLISECONDS": _split_milliseconds,
    "HTTP.FIRSTLINE": _split_first_line,
    "HTTP.PROTOCOL_VERSION": _split_protocol,
    "HTTP.URI": _split_uri,
    "HTTP.QUERYSTRING": _split_query,
    "TIME.STAMP": _split_time,
}
"""The function that yields the parts of a value, by the kind of the value."""


@plugin(
    name="parse-as-log",
    description="Parses lines of web server logs to columns such as ip_connection_client_host. Lines of "
    "another format only get the column log.parse.error.",
)
class ParseAsLog(Directive):
    categories = ("parser", "logs")
    examples = ("parse-as-log :body 'common'", "parse-as-log :body '%h %l %u %t \"%r\" %>s %b'")
    keeps_values = True
    column: str = argument.column("The column with lines, texts or bytes.")
    format: str = argument.text(
        "common, combined, combinedio, referer, agent, or a format of Apache httpd or nginx."
    )

    def problem(self) -> str | None:
        try:
            LogFormat(self.format)
        except LogFormatError as error:
            return str(error)
        return None

    def propagate(self, columns: Columns) -> None:
        if report_missing_column(columns, self.column, "parse", fails=False):
            return
        for name in LogFormat(self.format).columns:
            columns.put(name, Schema.STRING.as_nullable)
        columns.open = True

    def start(self, context: RowContext) -> None:
        self._format = LogFormat(self.format)

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None:
            return
        line = row[found]
        if isinstance(line, bytes):
            line = line.decode("utf-8", "replace")
        if not isinstance(line, str):
            raise make_type_error(self.column, line, "a text or bytes are needed")
        try:
            values = self._format.read(line)
        except (LineError, TimeoutError):
            row.put("log.parse.error", 1)
            return
        present = {name.lower(): name for name in row}
        for name, value in values.items():
            row[present.get(name, name)] = value
