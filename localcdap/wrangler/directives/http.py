"""Web services asked about rows."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from functools import cached_property
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    ErrorRow,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.wrangler.directives.columns import no_column
from localcdap.wrangler.values.gson import read_json, write_json

CODE: Final = 500
"""Of the error record of a row that got no answer."""
_SECONDS: Final = 30
"""How long a service may take to answer."""
_MOST: Final = 64 * 2**20


@plugin(
    type="directive",
    name="invoke-http",
    description="Posts columns as an object of JSON to a web service, one row at a time; the members of the "
    "object it answers with become columns. Rows without an answer in 30 seconds go to the error port.",
)
class InvokeHttp(Directive):
    categories = ("http",)
    examples = (
        "invoke-http 'http://localhost:8080/score' :latitude,:longitude",
        "invoke-http 'http://localhost:8080/score' :text 'apiKey=x,user=me'",
    )
    url: str = argument.text("The address, http or https.")
    column: list[str] = argument.columns("The columns to send; missing ones and null are left out.")
    header: str | None = argument.text("Headers: 'name=value,name=value'.", default=None)

    @cached_property
    def _headers(self) -> dict[str, str]:
        pairs = (each.split("=") for each in (self.header or "").split(",") if each)
        return {name.strip(): value.strip() for name, value in pairs}

    def problem(self) -> str | None:
        if urllib.parse.urlsplit(self.url).scheme not in ("http", "https"):
            return f"'{self.url}' is no address that begins with http:// or https://"
        for each in (self.header or "").split(","):
            name, separator, value = each.partition("=")
            if self.header and (not separator or "=" in value):
                return f"the header '{each}' is not name=value"
            if self.header and not (name.strip() and value.strip()):
                return f"the header '{each}' needs a name and a value"
        return None

    def propagate(self, columns: Columns) -> None:
        for name in self.column:
            no_column(columns, name, "send", fails=False)
        columns.open = True

    def start(self, context: RowContext) -> None:
        self._opener = urllib.request.build_opener(_NoRedirects)

    def change(self, row: Row, context: RowContext) -> None:
        found = {name: row.find(name) for name in self.column}
        sent = {name: row[own] for name, own in found.items() if own is not None}
        try:
            answer = self._ask(write_json(sent).encode("utf-8", "surrogatepass"))
        except (OSError, ValueError, urllib.error.URLError) as error:
            raise _unanswered(_told(error)) from None
        if not isinstance(answer, dict):
            raise _unanswered("the answer is no object of JSON")
        for name, value in answer.items():
            row.put(name, _with_doubles(value))

    def _ask(self, body: bytes) -> Any:
        request = urllib.request.Request(self.url, body, method="POST")  # noqa: S310 - see problem()
        request.add_header("Content-type", "application/json; charset=UTF-8")
        for name, value in self._headers.items():
            request.add_header(name, value)
        with self._opener.open(request, timeout=_SECONDS) as answer:
            content = answer.read(_MOST + 1)
        if len(content) > _MOST:
            raise ValueError(f"the answer is larger than {_MOST >> 20} MB")
        return read_json(content.decode("utf-8", "replace"))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """What is posted is not sent elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _unanswered(told: str) -> ErrorRow:
    return ErrorRow(f"{told} (ecode: {CODE}, directive: invoke-http)", CODE)


def _told(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"status code: {error.code}, reason phrase: {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return f"there is no connection: {error.reason}"
    return str(error) or type(error).__name__


def _with_doubles(value: Any) -> Any:
    """Numbers of an answer are doubles, as Gson reads them without a type."""
    if isinstance(value, dict):
        return {name: _with_doubles(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_doubles(each) for each in value]
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole else value
