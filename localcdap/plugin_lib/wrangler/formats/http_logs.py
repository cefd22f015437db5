"""Lines of web server logs, read by the format that Apache httpd or nginx writes them in.

Columns have the names that the original gives them: the kind of a value and its position in the
request, such as ``ip_connection_client_host``. A value that a line leaves out (``-``) is null.
"""

from __future__ import annotations

import datetime
import re
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Final

from localcdap.java.dates.patterns import MONTHS
from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.wrangler.formats.http_log_format import (
    ANY_REQUEST,
    LogFormatError,
    LogToken,
    split_format,
)

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
