"""Formats as nginx writes them: ``$remote_addr - $remote_user``."""

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

TOKEN: Final = re.compile(r"\$\{?(?P<name>[a-z0-9_]+)\}?")
_VARIABLES: Final = {
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
"""Those of nginx."""


def token(found: re.Match[str]) -> Token:
    """What is meant by a match of :data:`TOKEN`.

    :raises LogFormatError: for a variable that is not known.
    """
    name = found["name"]
    known = _VARIABLES.get(name)
    if known is None and name.startswith("http_"):
        known = ("HTTP.HEADER", f"request.header.{name[5:].replace('_', '-')}", TEXT)
    if known is None:
        raise LogFormatError(f"'{found[0]}' is no variable of nginx that is understood")
    kind, place, pattern = known
    return Token(kind, (place,), f"({pattern})")
