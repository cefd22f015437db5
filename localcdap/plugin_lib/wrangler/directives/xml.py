"""Directives that read XML in texts."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

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
from localcdap.java import xml
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_type_error
from localcdap.plugin_lib.wrangler.directives.flattener import FlattenDirective
from localcdap.plugin_lib.wrangler.formats import xml as xml_documents
from localcdap.plugin_lib.wrangler.formats import xml as xml_objects
from localcdap.plugin_lib.wrangler.recipe.base_directives import ColumnMap


@plugin(
    name="parse-as-xml",
    description="Checks that a text is XML that xpath and xpath-array can select from. The text stays.",
)
class ParseAsXml(ColumnMap):
    categories = ("parser", "xml")
    examples = ("parse-as-xml :body",)

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "parse", fails=False)

    def map(self, value: Any) -> Any:
        if isinstance(value, str):
            try:
                xml_documents.open_document(value)
            except xml.XmlError as error:
                raise DirectiveError(f"column '{self.column}': {error}") from None
        return value

    def end(self) -> None:
        xml_documents.open_document.cache_clear()


class XPathDirective(Directive):
    """A directive that puts the texts that an XPath selects into a column."""

    categories = ("xml",)
    makes = ("destination",)
    source: str = argument.column("The column with XML.")
    destination: str = argument.column("The column for the selected text.")
    xpath: str = argument.text("The path, an XPath 1.0 such as /catalog/book/@id.")

    def problem(self) -> str | None:
        path = self.xpath.strip()
        problem = xml.find_path_problem(path)
        return None if problem is None else f"'{path}' is not an XPath: {problem}"

    @abstractmethod
    def choose(self, texts: list[str]) -> Any:
        """Return the column's value for the selected texts."""

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.source)
        if found is None:
            row.put(self.destination, None)
            return
        text = row[found]
        if not isinstance(text, str):
            raise make_type_error(self.source, text, "XML is needed")
        try:
            texts = xml_documents.select_texts(text, self.xpath.strip())
        except xml.XmlError as error:
            raise DirectiveError(f"column '{self.source}': {error}") from None
        row.put(self.destination, self.choose(texts))

    def end(self) -> None:
        xml_documents.open_document.cache_clear()


@plugin(
    name="xpath",
    description="Puts the first text that an XPath selects into a column, null for nothing.",
)
class XPath(XPathDirective):
    examples = ("xpath :body :title '/catalog/book/title'", "xpath :body :id '/catalog/book/@id'")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.source, "select from", fails=False)
        columns.put(self.destination, Schema.STRING.as_nullable)

    def choose(self, texts: list[str]) -> Any:
        return texts[0] if texts else None


@plugin(
    name="xpath-array",
    description="Puts all texts that an XPath selects into a column, as an array.",
)
class XPathArray(XPathDirective):
    examples = ("xpath-array :body :titles '/catalog/book/title'",)

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.source, "select from", fails=False)
        columns.put(self.destination, Schema.array(Schema.STRING).as_nullable)

    def choose(self, texts: list[str]) -> Any:
        return texts


@plugin(
    name="parse-xml-to-json",
    description="Opens XML: elements and attributes become columns <column>_<name>, repeated ones arrays.",
)
class ParseXmlToJson(FlattenDirective):
    categories = ("xml",)
    examples = ("parse-xml-to-json :body", "parse-xml-to-json :body 1 true")
    column: str = argument.column("The column with XML; it is removed.")
    depth: int | None = argument.number(
        "How many levels of elements become columns; all without it.", default=None
    )
    keep_string: bool = argument.boolean(
        "Whether texts stay texts; else numbers, true, false and null become these.", default=False
    )

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.column, "parse", fails=False):
            columns.remove(self.column)
            columns.open = True

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None:
            return
        text = row[found]
        if not isinstance(text, str):
            raise make_type_error(self.column, text)
        try:
            value = xml_objects.parse_xml_object(text, keeps_texts=self.keep_string)
        except xml_objects.XmlFormatError as error:
            raise DirectiveError(f"column '{self.column}': {error}") from None
        del row[found]
        self.flatten(value, self.column, row)
