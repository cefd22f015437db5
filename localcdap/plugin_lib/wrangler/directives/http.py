"""The directive that calls a web service for every row.

Web services to which JSON is posted, and which answer with a JSON object.
"""

from __future__ import annotations

import functools
import urllib.parse
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from localcdap.api.directive import Columns, Directive, Row, RowContext, argument, plugin
from localcdap.java.gson import JsonError, read_json, write_json
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_error_row

_SECONDS: Final = 30
"""The time limit of a call."""
_MAX_BYTES: Final = 64 * 2**20


class NoAnswerError(Exception):
    """A service gave no usable answer; the message says why."""


class WebService:
    """A service at an HTTP or HTTPS URL."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {"Content-type": "application/json; charset=UTF-8", **headers}

    def post(self, body: str) -> dict[str, Any]:
        """Post JSON and return the answer. All numbers are doubles, as Gson reads them without a type.

        :raises NoAnswerError: for any status from 300 on (what is posted is not sent elsewhere), silence of
            30 seconds, more than 64 MB, or an answer that is not an object.
        """
        import http.client
        import urllib.error
        import urllib.request

        content = body.encode("utf-8", "surrogatepass")
        request = urllib.request.Request(self._url, content, self._headers, method="POST")  # noqa: S310
        try:
            with _load_opener().open(request, timeout=_SECONDS) as answer:
                found = answer.read(_MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            reason = f"status code: {error.code}, reason phrase: {error.reason}"
            raise NoAnswerError(reason) from None
        except urllib.error.URLError as error:
            raise NoAnswerError(f"there is no connection: {error.reason}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise NoAnswerError(str(error) or type(error).__name__) from None
        return _parse_object(found)


@functools.cache
def _load_opener() -> Any:
    import urllib.request

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return urllib.request.build_opener(NoRedirects)


def _parse_object(content: bytes) -> dict[str, Any]:
    if len(content) > _MAX_BYTES:
        raise NoAnswerError(f"the answer is larger than {_MAX_BYTES >> 20} MB")
    try:
        answer = read_json(content.decode("utf-8", "replace"))
    except JsonError as error:
        raise NoAnswerError(str(error)) from None
    if not isinstance(answer, dict):
        raise NoAnswerError("the answer is not an object of JSON")
    return {name: _convert_to_doubles(value) for name, value in answer.items()}


def _convert_to_doubles(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _convert_to_doubles(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_convert_to_doubles(each) for each in value]
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole else value


CODE: Final = 500
"""The code of the error record for a row without an answer."""


@plugin(
    name="invoke-http",
    description="Posts columns as a JSON object to a web service, one row at a time; the members of the "
    "object that it answers with become columns. Rows without an answer in 30 seconds go to the error port.",
)
class InvokeHttp(Directive):
    categories = ("http",)
    examples = (
        "invoke-http 'http://localhost:8080/score' :latitude,:longitude",
        "invoke-http 'http://localhost:8080/score' :text 'apiKey=x,user=me'",
    )
    keeps_values = True
    url: str = argument.text("The address, http or https.")
    column: list[str] = argument.columns("The columns to send; missing ones and null are left out.")
    header: str | None = argument.text("Headers: 'name=value,name=value'.", default=None)

    @cached_property
    def _headers(self) -> dict[str, str]:
        pairs = (each.split("=") for each in (self.header or "").split(",") if each)
        return {name.strip(): value.strip() for name, value in pairs}

    def problem(self) -> str | None:
        if urllib.parse.urlsplit(self.url).scheme not in ("http", "https"):
            return f"'{self.url}' is not an address that begins with http:// or https://"
        for each in (self.header or "").split(","):
            name, separator, value = each.partition("=")
            if self.header and (not separator or "=" in value):
                return f"the header '{each}' is not name=value"
            if self.header and not (name.strip() and value.strip()):
                return f"the header '{each}' needs a name and a value"
        return None

    def propagate(self, columns: Columns) -> None:
        for name in self.column:
            report_missing_column(columns, name, "send", fails=False)
        columns.open = True

    def start(self, context: RowContext) -> None:
        self._service = WebService(self.url, self._headers)

    def change(self, row: Row, context: RowContext) -> None:
        found = {name: row.find(name) for name in self.column}
        sent = {name: row[own] for name, own in found.items() if own is not None}
        try:
            answer = self._service.post(write_json(sent))
        except (NoAnswerError, ValueError) as error:
            raise make_error_row(str(error), CODE, self.directive_name()) from None
        for name, value in answer.items():
            row.put(name, value)
