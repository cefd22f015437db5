"""Directives that look values up: in catalogs and tables, or by a call of a web service for every row.

JSON is posted to the service, which answers with a JSON object.
"""

from __future__ import annotations

import functools
import urllib.parse
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java.gson import JsonError, read_json, write_json
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT, FolderError, read_file
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    make_error_row,
    report_missing_column,
    require_text,
)

_CODE: Final = slice(0, 7)
_DESCRIPTION: Final = slice(8, None)
"""The code and the description in a line of a catalog."""


@plugin(
    name="catalog-lookup",
    description="Puts the description of a code into the column <column>_<catalog>_description. Catalogs "
    "are files such as icd-9_cm_codes.txt (published by CMS: codes of up to 7 characters, a space, the "
    f"description), in the folder that the runtime argument '{ARGUMENT}' names.",
)
class CatalogLookup(Directive):
    categories = ("lookup",)
    examples = ("catalog-lookup 'ICD-9' :code", "catalog-lookup 'ICD-10-2017' :code")
    keeps_values = True
    catalog: str = argument.text(
        "ICD-9, ICD-10-2016 or ICD-10-2017.", choices=("ICD-9", "ICD-10-2016", "ICD-10-2017")
    )
    column: str = argument.column("The column with codes.")

    def _name_destination(self) -> str:
        return f"{self.column}_{self.catalog.lower().replace('-', '_')}_description"

    def _name_file(self) -> str:
        return f"{self.catalog.lower()}_cm_codes.txt"

    def propagate(self, columns: Columns) -> None:
        columns.add(self._name_destination(), Schema.STRING.as_nullable)
        columns.warn(
            f"The catalog is the file '{self._name_file()}', which is not part of localcdap.",
            f"Put it into a folder and give the folder as the runtime argument '{ARGUMENT}'.",
        )

    def start(self, context: RowContext) -> None:
        self._descriptions: dict[str, str] = {}
        self._problem: str | None = None
        try:
            content = read_file(
                context.arguments, [self._name_file()], f"The catalog {self.catalog}"
            )
        except FolderError as error:
            self._problem = str(error)
            return
        for line in content.decode("utf-8", "replace").splitlines():
            self._descriptions[line[_CODE].strip()] = line[_DESCRIPTION].strip()

    def change(self, row: Row, context: RowContext) -> None:
        if self._problem is not None:
            raise DirectiveError(self._problem)
        code = row.value(self.column)
        row.add(
            self._name_destination(),
            self._descriptions.get(code) if isinstance(code, str) else None,
        )


@plugin(
    name="table-lookup",
    description="Looks the text of a column up among the keys of a table of this namespace, and puts each "
    "value of the row that is found, as text, into the column <column>_<field>.",
)
class TableLookup(Directive):
    """As in wrangler, a key without a row adds no columns, nor does a null value."""

    categories = ("lookup",)
    examples = ("table-lookup :id 'customers'",)
    keeps_values = True
    column: str = argument.column("The column with the keys.")
    table: str = argument.text("The name of the table.")

    def tables(self) -> Iterable[str]:
        return (self.table,)

    def list_looked_up(self, column: str) -> Iterable[str]:
        return (column.removeprefix(f"{self.column}_"),)

    def propagate(self, columns: Columns) -> None:
        given = columns.schema(self.column)
        if given is not None and given.non_nullable not in (Schema.STRING, Schema.NULL):
            columns.fail(
                f"column '{self.column}' is of type {given.non_nullable.display_name}; only texts can be "
                "looked up.",
                f"Put 'set-type :{self.column} string' before it.",
            )
        if report_missing_column(columns, self.column, "look up", fails=False):
            return
        shape = columns.find_table(self.table)
        if shape is None:
            columns.open_for(f"{self.column}_")
        elif shape.found is None:
            columns.fail(f"table '{self.table}' has no key by which rows could be looked up.")
        else:
            for field in shape.found:
                columns.add(f"{self.column}_{field.name}", Schema.STRING.as_nullable)

    def change(self, row: Row, context: RowContext) -> None:
        if row.find(self.column) is None:
            return
        key = require_text(row, self.column)
        lookup = context.lookups.get(self.table)
        if lookup is None:
            raise DirectiveError(
                f"table '{self.table}' cannot be looked into here: use a run, a preview, the prep area "
                "or 'localcdap prep apply'."
            )
        for field, value in (lookup.get(key) or {}).items():
            if value is not None:
                row.add(f"{self.column}_{field}", to_java_string(value))


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
    drops_rows = True
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
