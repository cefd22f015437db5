"""Lines of web server logs, by the format that Apache httpd or nginx writes them in.

Columns have the names that the original gives them: the kind of a value and where it is in the request,
``ip_connection_client_host``. What is left out of lines (``-``) is null.
"""

from __future__ import annotations

import re
from typing import Final

from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.wrangler.formats.http_logs import apache, nginx
from localcdap.plugin_lib.wrangler.formats.http_logs.parts import PARTS, LineError
from localcdap.plugin_lib.wrangler.formats.http_logs.tokens import (
    ANY_REQUEST,
    LogFormatError,
    Token,
)

_REQUEST: Final = "[a-zA-Z_-]+ .*|-"
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9_]")
_HIDDEN: Final = ("original", "bytesclf", "cookie")
"""What the original leaves out, by a part of the name."""
_SAMPLES: Final = {
    "TIME.STAMP": "01/Jan/2000:00:00:00 +0000",
    "HTTP.FIRSTLINE": "GET / HTTP/1.0",
    "HTTP.URI": "http://localhost:80/",
}


class LogFormat:
    """Reads lines of a format.

    :param text: such as ``%h %l %u %t "%r" %>s %b``, ``common``, or with nginx's ``$variables``.
    :raises LogFormatError: for an unknown token.
    """

    def __init__(self, text: str) -> None:
        format = apache.NAMED.get(text.strip().lower(), text)
        of = nginx if "$" in format and not apache.TOKEN.search(format) else apache
        self._tokens: list[Token] = []
        pattern, at = "", 0
        for found in of.TOKEN.finditer(format):
            token = of.token(found)
            pattern += re.escape(format[at : found.start()]) + (token.pattern if token else "%")
            self._tokens += [token] if token else []
            at = found.end()
        pattern = f"^{pattern}{re.escape(format[at:])}$"
        if not self._tokens:
            raise LogFormatError(f"'{text}' names nothing that a line holds, such as %h or $host")
        # A first line that is one tells apart the words around it; garbage in its place is read too.
        strict = pattern.replace(ANY_REQUEST, _REQUEST)
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


def _take(kind: str, name: str, value: str | None, values: dict[str, str | None]) -> None:
    """Put a value and its parts under their columns."""
    if kind in ("HTTP.FIRSTLINE", "HTTP.USERAGENT", "HTTP.HEADER") and value and "\\" in value:
        value = _ESCAPE.sub(_unescaped, value)
    key = _NOT_IN_NAMES.sub("_", f"{kind}:{name}".lower())
    if not any(part in key for part in _HIDDEN):
        values[key] = value
    parts = PARTS.get(kind)
    if parts is not None and "original" not in name:
        for inner, below, part in parts(value):
            _take(inner, f"{name}.{below}" if below else name, part, values)


def _unescaped(found: re.Match[str]) -> str:
    code, letter = found.groups()
    return chr(int(code, 16)) if code else _ESCAPED.get(letter, letter)
