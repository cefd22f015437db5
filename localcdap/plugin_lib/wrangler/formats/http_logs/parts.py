"""What values of logs consist of: a request of method and path, a path of its query, a time of its hour."""

from __future__ import annotations

import datetime
import re
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Final

from localcdap.java.dates.names import MONTHS

_FIRST_LINE: Final = re.compile(r"([a-zA-Z_-]+) (.*?)(?: (HTTP/[0-9]+\.[0-9]+))?")
_UNWISE: Final = re.compile(r'[\x00-\x20\x7f{}|\\^\[\]`<>"]')


class LineError(ValueError):
    """A line is not of the format."""


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


PARTS: Final[dict[str, Callable[[str | None], Parts]]] = {
    "BYTESCLF": _of_bytes,
    "MILLISECONDS": _of_milliseconds,
    "HTTP.FIRSTLINE": _of_first_line,
    "HTTP.PROTOCOL_VERSION": _of_protocol,
    "HTTP.URI": _of_uri,
    "HTTP.QUERYSTRING": _of_query,
    "TIME.STAMP": _of_stamp,
}
"""What yields the parts of a value, by the kind of the value."""
