"""Directives that read XML in texts: as JSON objects (:mod:`localcdap.java.org_json`), or by XPath."""

from __future__ import annotations

import functools
import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final

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
from localcdap.java.org_json import XmlFormatError, parse_xml_object
from localcdap.plugin_lib.wrangler.directives.json import FlattenDirective
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    ColumnMap,
    make_type_error,
    report_missing_column,
)

if TYPE_CHECKING:
    from lxml.etree import XPath as CompiledPath
    from lxml.etree import _Element


_PROLOG: Final = re.compile(r"\s*<\?xml\s[^>]*\?>")


@functools.lru_cache(maxsize=1)
def open_document(text: str) -> tuple[_Element, tuple[tuple[str, str], ...]]:
    """Return the root of a document, and its namespaces by prefix. The last document is cached.

    :raises XmlError: as :func:`localcdap.java.xml.read_document`.
    """
    from lxml import etree

    root = xml.read_document(_PROLOG.sub("", text, count=1))
    spaces: dict[str, str] = {}
    for element in root.iter(etree.Element):
        spaces.update((prefix, uri) for prefix, uri in element.nsmap.items() if prefix)
    return root, tuple(spaces.items())


def select_texts(text: str, path: str) -> list[str]:
    """Return the texts that a path selects: of attributes, and of elements that begin with a text.

    :raises XmlError: as :func:`open_document`, and for a path that cannot be evaluated.
    """
    root, spaces = open_document(text)
    texts = map(_find_text, xml.evaluate_path(_compile_path(path, spaces), root))
    return [each for each in texts if each is not None]


@functools.lru_cache(maxsize=512)
def _compile_path(path: str, spaces: tuple[tuple[str, str], ...]) -> CompiledPath:
    from lxml import etree

    return etree.XPath(path, namespaces=dict(spaces), regexp=False, smart_strings=False)


def _find_text(node: Any) -> str | None:
    if isinstance(node, bool):
        return str(node).lower()
    if isinstance(node, float):
        return str(int(node)) if node.is_integer() else str(node)
    if not hasattr(node, "itertext"):
        return str(node)
    if not _has_leading_text(node):
        return None
    return "".join(each for each in node.itertext(with_tail=False) if each.strip())


def _has_leading_text(element: Any) -> bool:
    texts = [element.text]
    for child in element:
        if isinstance(child.tag, str):
            break
        texts.append(child.tail)
    return any(text and text.strip() for text in texts)


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
                open_document(value)
            except xml.XmlError as error:
                raise DirectiveError(f"column '{self.column}': {error}") from None
        return value

    def end(self) -> None:
        open_document.cache_clear()


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
            texts = select_texts(text, self.xpath.strip())
        except xml.XmlError as error:
            raise DirectiveError(f"column '{self.source}': {error}") from None
        row.put(self.destination, self.choose(texts))

    def end(self) -> None:
        open_document.cache_clear()


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
            value = parse_xml_object(text, keeps_texts=self.keep_string)
        except XmlFormatError as error:
            raise DirectiveError(f"column '{self.column}': {error}") from None
        del row[found]
        self.flatten(value, self.column, row)
