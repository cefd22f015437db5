"""XML within texts."""

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
from localcdap.plugin_lib.wrangler.directives.columns import no_column
from localcdap.plugin_lib.wrangler.directives.error_messages import mismatched
from localcdap.plugin_lib.wrangler.directives.flattener import FlattenDirective
from localcdap.plugin_lib.wrangler.formats import xml as xml_documents
from localcdap.plugin_lib.wrangler.formats import xml as xml_objects
from localcdap.plugin_lib.wrangler.recipe.base_directives import ColumnMap


@plugin(
    type="directive",
    name="parse-as-xml",
    description="Checks that a text is XML that xpath and xpath-array can select from. The text stays.",
)
class ParseAsXml(ColumnMap):
    categories = ("parser", "xml")
    examples = ("parse-as-xml :body",)

    def propagate(self, columns: Columns) -> None:
        no_column(columns, self.column, "parse", fails=False)

    def map(self, value: Any) -> Any:
        if isinstance(value, str):
            try:
                xml_documents.opened(value)
            except xml.XmlError as error:
                raise DirectiveError(f"column '{self.column}': {error}") from None
        return value

    def end(self) -> None:
        xml_documents.opened.cache_clear()


class Selection(Directive):
    """A directive that puts what an XPath selects into a column."""

    categories = ("xml",)
    source: str = argument.column("The column with XML.")
    destination: str = argument.column("The column that gets what is found.")
    xpath: str = argument.text("The path, an XPath 1.0 such as /catalog/book/@id.")

    def problem(self) -> str | None:
        path = self.xpath.strip()
        why = xml.find_path_problem(path)
        return None if why is None else f"'{path}' is no XPath: {why}"

    @abstractmethod
    def taken(self, texts: list[str]) -> Any:
        """What the column gets of the texts that are selected."""

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.source)
        if found is None:
            row.put(self.destination, None)
            return
        text = row[found]
        if not isinstance(text, str):
            raise mismatched(self.source, text, "XML is needed")
        try:
            texts = xml_documents.selected(text, self.xpath.strip())
        except xml.XmlError as error:
            raise DirectiveError(f"column '{self.source}': {error}") from None
        row.put(self.destination, self.taken(texts))

    def end(self) -> None:
        xml_documents.opened.cache_clear()


@plugin(
    type="directive",
    name="xpath",
    description="Puts the first text that an XPath selects into a column, null for nothing.",
)
class XPath(Selection):
    examples = ("xpath :body :title '/catalog/book/title'", "xpath :body :id '/catalog/book/@id'")

    def propagate(self, columns: Columns) -> None:
        no_column(columns, self.source, "select from", fails=False)
        columns.put(self.destination, Schema.STRING.as_nullable)

    def taken(self, texts: list[str]) -> Any:
        return texts[0] if texts else None


@plugin(
    type="directive",
    name="xpath-array",
    description="Puts all texts that an XPath selects into a column, as an array.",
)
class XPathArray(Selection):
    examples = ("xpath-array :body :titles '/catalog/book/title'",)

    def propagate(self, columns: Columns) -> None:
        no_column(columns, self.source, "select from", fails=False)
        columns.put(self.destination, Schema.array(Schema.STRING).as_nullable)

    def taken(self, texts: list[str]) -> Any:
        return texts


@plugin(
    type="directive",
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
        if not no_column(columns, self.column, "parse", fails=False):
            columns.remove(self.column)
            columns.open = True

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None:
            return
        text = row[found]
        if not isinstance(text, str):
            raise mismatched(self.column, text)
        try:
            value = xml_objects.xml_object(text, keeps_texts=self.keep_string)
        except xml_objects.XmlError as error:
            raise DirectiveError(f"column '{self.column}': {error}") from None
        del row[found]
        self.open(value, self.column, row)
