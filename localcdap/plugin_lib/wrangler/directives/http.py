"""The directive that calls a web service for every row."""

from __future__ import annotations

import urllib.parse
from functools import cached_property
from typing import Final

from localcdap.api.directive import (
    Columns,
    Directive,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.java.gson import write_json
from localcdap.plugin_lib.wrangler.catalogs.web_service import NoAnswerError, WebService
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_error_row

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
